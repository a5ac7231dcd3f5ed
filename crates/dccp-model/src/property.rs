//! The properties that every state must have.

use core::fmt;

/// A property of all states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// No input makes an endpoint panic.
    NoPanic,
    /// A datagram is delivered at most once.
    AtMostOnce,
    /// Every delivered datagram was sent, or is the payload of a forged packet with valid numbers.
    OnlySent,
    /// A datagram gets one fate.
    OneFate,
    /// Two open ends of one connection without a negotiation under way agree on the value of each feature.
    EqualFeatures,
    /// From here, a network that loses nothing leads to two open, idle ends or to two closed ones.
    NoDeadlock,
    /// From here, an end that gets no more packets ends by its own timers.
    NoHalfOpen,
    /// An end that has closed sends no application data.
    SilentAfterEnd,
    /// A forged packet with wrong numbers changes nothing at the end that gets it, and not the outcome.
    BlindIsHarmless,
    /// After a forged data packet at the end of the window, datagrams soon arrive again in both directions.
    Recovers,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::NoPanic,
        Self::AtMostOnce,
        Self::OnlySent,
        Self::OneFate,
        Self::EqualFeatures,
        Self::NoDeadlock,
        Self::NoHalfOpen,
        Self::SilentAfterEnd,
        Self::BlindIsHarmless,
        Self::Recovers,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoPanic => "no panic",
            Self::AtMostOnce => "at most one delivery",
            Self::OnlySent => "only sent data is delivered",
            Self::OneFate => "one fate for each datagram",
            Self::EqualFeatures => "open ends agree on features",
            Self::NoDeadlock => "no deadlock",
            Self::NoHalfOpen => "no half-open end for ever",
            Self::SilentAfterEnd => "no data after the end",
            Self::BlindIsHarmless => "a blind packet changes nothing",
            Self::Recovers => "recovery after a forged packet",
        }
    }

    /// The requirements that it checks, by their IDs in `specs/requirements.md`.
    pub const fn rules(self) -> &'static [&'static str] {
        match self {
            Self::NoPanic | Self::OnlySent | Self::OneFate | Self::NoDeadlock => &[],
            Self::AtMostOnce => &["4340-18-6"],
            Self::EqualFeatures => &["4340-6.6.1-2"],
            Self::NoHalfOpen => &["4340-8.1.1-3", "4340-8.1.3-6", "4340-8.1.5-2", "4340-8.3-3"],
            Self::SilentAfterEnd => &["4340-8.3-2"],
            Self::BlindIsHarmless => &["4340-7.5.3-1", "4340-8.5-4", "4340-8.5-6"],
            Self::Recovers => &["4340-7.5.4-10"],
        }
    }
}

/// A state without one of the properties.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The property.
    pub property: Property,
    /// The observation that contradicts it.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property.name(), self.detail)
    }
}
