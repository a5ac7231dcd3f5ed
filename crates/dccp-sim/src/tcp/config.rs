//! Settings of a TCP connection.

use crate::frame::segment::TIMESTAMPS;
use core::fmt;
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::cc::config::CcConfig;
use dccp_proto::cc::law::{LawConfig, reno};
use dccp_proto::cc::safeudp::SafeUdpConfig;
use dccp_proto::cc::slow_start::Pace;

/// ns-2 counts the variation of the round trip in quarters of a millisecond, and three of them never fade: the
/// timeout is four times as much above the mean at least.
const NS2_VARIATION: Duration = Duration::from_millis(3);

/// Settings of one end. The defaults are those of a modern host that does not autotune.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting")]
pub struct Config {
    /// How the window grows and shrinks.
    pub law: LawConfig,
    /// Bytes of data per segment, at least 1; the peer's may be less.
    pub mss: u16,
    /// Window at the start in segments (RFC 6928).
    pub initial_window: u32,
    /// The largest congestion window in segments; `None`: no limit.
    pub max_window: Option<u32>,
    /// Room for received data in bytes, below 2^30. It is always all free: applications read at once.
    pub receive_window: u32,
    /// Bytes that the application may have written and the peer has not acknowledged, a bulk source apart; `None`: no
    /// limit. A datagram that finds no room is dropped.
    pub send_buffer: Option<u64>,
    /// Segments per acknowledgement (RFC 9293 §3.8.6.3); 1: no delayed acknowledgements.
    pub ack_every: u32,
    /// How long an acknowledgement waits for more segments.
    pub delayed_ack: Duration,
    /// Use the Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// Use ECN (RFC 3168).
    pub ecn: bool,
    /// Spread packets over the round trip.
    pub is_paced: bool,
    /// The shortest retransmission timeout.
    pub rto_min: Duration,
    /// Until a loss is recovered, a packet leaves for every second one acknowledged, whatever the window. Slow
    /// start then restores the window. This is the way of ns-2's agents with the Linux kernel's Reno, HighSpeed,
    /// Scalable and Vegas.
    pub halves_flight: bool,
    /// The timeout takes a sample of the round trip from every acknowledgement, and is no nearer than 3 ms to the
    /// mean, as in ns-2.
    pub samples_every_ack: bool,
    /// A doubled timeout stays doubled until a packet is acknowledged that was first sent after the timeout. Timestamps
    /// do not end it earlier, as in ns-2.
    pub keeps_backoff: bool,
}

impl Default for Config {
    fn default() -> Self {
        let mut law = LawConfig::from(reno::Config {
            fractional: true,
            ..reno::Config::default()
        });
        law.slow_start.pace = Pace::Standard;
        Self {
            law,
            mss: 1448,
            initial_window: 10,
            max_window: None,
            receive_window: (1 << 30) - 1,
            send_buffer: None,
            ack_every: 2,
            delayed_ack: Duration::from_millis(40),
            timestamps: true,
            ecn: false,
            is_paced: false,
            rto_min: Duration::from_millis(200),
            halves_flight: false,
            samples_every_ack: false,
            keeps_backoff: false,
        }
    }
}

/// A law whose slow start is CCID 2's, which is not TCP's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotForTcp;

impl fmt::Display for NotForTcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the slow start of this law is CCID 2's: TCP's has Pace::Standard")
    }
}

impl core::error::Error for NotForTcp {}

impl Config {
    /// The defaults with this law.
    ///
    /// # Errors
    /// [`NotForTcp`] if the pace of its slow start is CCID 2's, as that of the default [`LawConfig`] is. The default
    /// of this type has TCP's own Reno: one packet per acknowledged one in slow start, and fractions of packets.
    pub fn with_law(law: LawConfig) -> Result<Self, NotForTcp> {
        match law.slow_start.pace {
            Pace::Ccid2 => Err(NotForTcp),
            Pace::Standard => Ok(Self {
                law,
                ..Self::default()
            }),
        }
    }

    /// The least Window Scale option that can announce the receive window (RFC 7323 §2).
    pub(super) fn window_scale(&self) -> u8 {
        let bits = u32::BITS - self.receive_window.leading_zeros();
        bits.saturating_sub(u16::BITS).min(14) as u8
    }

    /// Bytes of the options of every segment.
    pub(super) const fn options_len(&self) -> u16 {
        if self.timestamps { TIMESTAMPS } else { 0 }
    }

    /// The MSS option, which does not count other options (RFC 6691).
    pub(super) const fn mss_option(&self) -> u16 {
        self.mss.saturating_add(self.options_len())
    }

    /// The settings of the window sender.
    pub(super) fn cc(&self, now: Instant) -> CcConfig {
        CcConfig {
            now,
            mps: self.mss.into(),
            law: self.law.clone(),
            initial_window: Some(self.initial_window),
            max_rate: None,
            safe_udp: SafeUdpConfig::default(),
            max_window: self.max_window.unwrap_or(u32::MAX),
            is_paced: self.is_paced,
            ack_ratio: None,
            is_strict: false,
            rto_min: self.rto_min,
            granularity: if self.samples_every_ack {
                NS2_VARIATION
            } else {
                Duration::ZERO
            },
            delayed_ack: self.delayed_ack,
            rtt: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::cubic;

    #[test]
    fn a_slow_start_that_is_not_tcps_is_refused() {
        assert_eq!(Config::with_law(LawConfig::default()), Err(NotForTcp));
        let reno = Config::default().law;
        assert_eq!(Config::with_law(reno), Ok(Config::default()));
        let cubic = LawConfig::from(cubic::Config::default());
        assert_eq!(Config::with_law(cubic.clone()).unwrap().law, cubic);
    }

    #[test]
    fn the_window_scale_is_the_least_that_does() {
        for (receive_window, scale) in [(65_535, 0), (65_536, 1), (131_072, 2), ((1 << 30) - 1, 14)]
        {
            let config = Config {
                receive_window,
                ..Config::default()
            };
            assert_eq!(config.window_scale(), scale, "{receive_window}");
        }
    }
}
