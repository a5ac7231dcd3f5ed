//! The reports of the CCID to the application that sends (SafeUDP §7).

use crate::time::Instant;
use crate::wire::ResetCode;
use core::fmt;

/// The result of a send under CCID 248 (`Socket::send_code`), or a notice (`Event::SafeUdp`). `Info`, `HostWarning` and
/// `Blocked` are notices only.
///
/// Rates are in bits of application data per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendCode {
    /// The datagram leaves. Nothing limits the sender.
    Sent,
    /// The datagram leaves; the control has come to a conclusion.
    Info(Info),
    /// The datagram leaves, but an end host is the bottleneck.
    HostWarning {
        /// The host.
        host: Side,
        /// The rate that the host can take, as far as known.
        bits_per_s: u64,
    },
    /// The datagram leaves, but the network is congested. From `deadline` on the CCID drops what exceeds the advised rate.
    Congestion {
        /// The advised rate.
        advised_bits_per_s: u64,
        /// The rate that TCP would have, `X_tfrc`.
        tfrc_bits_per_s: u64,
        /// Packets lost or marked in the network per 10^9 packets, over the last five intervals.
        loss_per_billion: u32,
        /// When enforcement begins.
        deadline: Instant,
    },
    /// The datagram leaves. The CCID drops what exceeds this rate.
    Limited {
        /// The enforced rate.
        bits_per_s: u64,
    },
    /// The datagram was dropped, because the input exceeds the enforced rate.
    Dropped {
        /// The enforced rate.
        bits_per_s: u64,
        /// Datagrams dropped by the CCID so far.
        dropped: u64,
    },
    /// A circuit breaker is open: the connection ends.
    Refused {
        /// The breaker.
        cause: Cause,
        /// No new connection to the same peer begins earlier.
        not_before: Instant,
    },
    /// No application listens at the peer (Drop Code 1).
    NotListening,
    /// The peer's protocol constraints forbid data for a round trip (Drop Code 0).
    Blocked,
}

impl SendCode {
    /// Whether the datagram of the call leaves.
    pub const fn is_sent(&self) -> bool {
        matches!(
            self,
            Self::Sent
                | Self::Info(_)
                | Self::HostWarning { .. }
                | Self::Congestion { .. }
                | Self::Limited { .. }
        )
    }

    /// Its name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Info(info) => info.name(),
            Self::HostWarning {
                host: Side::Sender, ..
            } => "host_tx",
            Self::HostWarning {
                host: Side::Receiver,
                ..
            } => "host_rx",
            Self::Congestion { .. } => "congestion",
            Self::Limited { .. } => "limited",
            Self::Dropped { .. } => "dropped",
            Self::Refused { .. } => "refused",
            Self::NotListening => "not_listening",
            Self::Blocked => "blocked",
        }
    }
}

/// A conclusion of the control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Info {
    /// The congestion was transient.
    Transient,
    /// There is congestion, but the rate does not exceed what the profile allows.
    WithinShare,
    /// The application has followed the advice.
    Complied,
    /// The congestion is over, and nothing is limited any more.
    Cleared,
}

impl Info {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::WithinShare => "within_share",
            Self::Complied => "complied",
            Self::Cleared => "cleared",
        }
    }
}

/// A notice for the application that receives: what arrives differs from what the sender declared.
///
/// Rates are in bits of application data per second, over a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortfall {
    /// The rate that the sender declared.
    pub declared_bits_per_s: u64,
    /// The rate that arrived.
    pub received_bits_per_s: u64,
    /// The rate has come back to 95 % of the declared one. If false, it has fallen below 90 %.
    pub is_over: bool,
}

/// One of the two hosts of a half-connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The host that sends the data.
    Sender,
    /// The host that receives them.
    Receiver,
}

/// The circuit breaker that tripped (RFC 8083, RFC 8084).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// More than 10 % of the packets were lost in three successive sub-windows.
    Loss,
    /// The rate exceeded ten times that of TCP for a breaker window.
    Unfair,
    /// The peer was silent.
    Feedback,
    /// Acknowledgements arrived, but none of data sent since.
    Stalled,
    /// The loss exceeded the application's limit during a breaker window.
    Unusable,
}

impl Cause {
    /// All causes. Ring clients and reports use this order, so new ones come last.
    pub const ALL: [Self; 5] = [
        Self::Loss,
        Self::Unfair,
        Self::Feedback,
        Self::Stalled,
        Self::Unusable,
    ];

    /// The code of the Reset that ends the connection. RFC 4340 §5.6 leaves 128–255 to CCIDs.
    pub const fn reset_code(self) -> ResetCode {
        ResetCode(match self {
            Self::Loss => 128,
            Self::Unfair => 129,
            Self::Feedback => 130,
            Self::Stalled => 131,
            Self::Unusable => 132,
        })
    }

    /// The cause that a Reset of a SafeUDP half-connection names.
    pub fn of_reset(code: ResetCode) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|cause| cause.reset_code() == code)
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Unfair => "unfair",
            Self::Feedback => "feedback",
            Self::Stalled => "stalled",
            Self::Unusable => "unusable",
        }
    }

    /// The name of the number of its trips among the inner values of [`Snapshot`](crate::cc::Snapshot).
    pub const fn trips_name(self) -> &'static str {
        match self {
            Self::Loss => "trips_loss",
            Self::Unfair => "trips_unfair",
            Self::Feedback => "trips_feedback",
            Self::Stalled => "trips_stalled",
            Self::Unusable => "trips_unusable",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns a rate in bytes per second as bits per second.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and rates are not negative"
)]
pub(crate) fn bits_per_s(rate: f64) -> u64 {
    (rate * 8.0) as u64
}

/// Returns a fraction in parts per 10^9.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and fractions are not negative"
)]
pub(crate) fn per_billion(fraction: f64) -> u32 {
    (fraction * 1e9) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_a_reset_code_of_ccids() {
        // 4340-5.6-3: codes 128 to 255 belong to CCIDs.
        for cause in Cause::ALL {
            let code = cause.reset_code();
            assert!(code.0 >= 128);
            assert_eq!(Cause::of_reset(code), Some(cause));
        }
        assert_eq!(Cause::of_reset(ResetCode::ABORTED), None);
    }
}
