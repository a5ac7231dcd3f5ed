//! Settings of a SafeUDP sender.

/// The network that a sender may assume.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Profile {
    /// Others share it: TCP's rate is the yardstick.
    #[default]
    Shared,
    /// Its operator has reserved the rate: only heavy loss counts. It is the choice of the sending host's administrator,
    /// and no peer can grant it.
    Provisioned,
}

impl Profile {
    /// Its name in reports and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Provisioned => "provisioned",
        }
    }
}

/// Settings of a sender with CCID 248.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SafeUdpConfig {
    /// The network.
    pub profile: Profile,
    /// The bits of application data per second that the application intends to send; `None`: unknown. The peer learns it
    /// (Declared Rate). The start-up goes on until it reaches this rate.
    pub declared_rate: Option<u64>,
    /// Ends the connection when more packets than this, per million, are missing for a breaker window; `None`: never.
    pub loss_limit: Option<u32>,
}
