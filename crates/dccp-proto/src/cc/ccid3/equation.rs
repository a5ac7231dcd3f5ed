//! The TCP throughput equation, its inverse, and the rates that bound it (RFC 5348 §3.1, §4.2).

/// The longest time between two packets in seconds, `t_mbi` (RFC 5348 §4.2).
pub(crate) const T_MBI: f64 = 64.0;
/// The lowest loss event rate that the inverse gives: one event per 10^16 packets.
const P_MIN: f64 = 1e-16;

/// The inputs of the equation besides the loss event rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// Packet size in bytes.
    pub(crate) s: f64,
    /// Round-trip time in seconds.
    pub(crate) r: f64,
    /// TCP's timeout in seconds.
    pub(crate) t_rto: f64,
    /// Packets per acknowledgement of the TCP that is imitated.
    pub(crate) b: f64,
}

impl Path {
    /// A path with the values that RFC 5348 recommends: `t_rto` = 4 `r`, `b` = 1.
    pub const fn new(s: f64, r: f64) -> Self {
        Self {
            s,
            r,
            t_rto: 4.0 * r,
            b: 1.0,
        }
    }

    /// The rate in bytes per second at loss event rate `p` (5348-3.1-1); infinite at 0.
    pub fn rate(&self, p: f64) -> f64 {
        let congestion = self.r * libm::sqrt(2.0 * self.b * p / 3.0);
        let timeouts = 3.0 * libm::sqrt(3.0 * self.b * p / 8.0) * p * (1.0 + 32.0 * p * p);
        self.s / (congestion + self.t_rto * timeouts)
    }

    /// The loss event rate at which the equation gives `x` bytes per second; 1 where `x` is too low
    /// for any.
    pub fn loss_event_rate(&self, x: f64) -> f64 {
        if x <= self.rate(1.0) {
            return 1.0;
        }
        // The rate falls as p rises; halve the interval on a logarithmic scale.
        let (mut low, mut high) = (P_MIN, 1.0);
        while high > low * (1.0 + 1e-9) {
            let middle = libm::sqrt(low * high);
            if self.rate(middle) > x {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// The initial window in bytes, `W_init`, for packets of up to `mss` bytes (5348-4.2-1, 4342-5-1).
pub(crate) const fn initial_window(mss: f64) -> f64 {
    (4.0 * mss).min((2.0 * mss).max(4380.0))
}

#[cfg(test)]
mod tests;
