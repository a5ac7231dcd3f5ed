//! The window rules of TCP that differ from CCID 2's.

use super::config::Config;
use core::time::Duration;
use dccp_proto::cc::Feedback;
use dccp_proto::cc::law::Window;
use dccp_proto::cc::rtt::RttEstimator;
use dccp_proto::cc::window_rules::WindowRules;

/// The rules of TCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpRules {
    samples_every_ack: bool,
    keeps_backoff: bool,
    /// The acknowledgement at hand acknowledges new data.
    pub(super) is_advance: bool,
    /// The position of the first packet that is not acknowledged.
    pub(super) una: u64,
    shrinking: Option<Shrinking>,
}

/// The window shrinks by one packet with every second acknowledgement, because the interface of the host is full: as
/// Linux 2.4 answers it (the state CWR), slowly and without a packet lost. It ends when all packets are acknowledged
/// that had left when it began. The window is at the target then.
#[derive(Clone, Copy, Debug)]
struct Shrinking {
    /// Down to this.
    target: f64,
    /// The position after the last packet that had left when it began.
    point: u64,
    /// The next acknowledgement is a second one.
    is_second: bool,
}

impl TcpRules {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            samples_every_ack: config.samples_every_ack,
            keeps_backoff: config.keeps_backoff,
            is_advance: false,
            una: 0,
            shrinking: None,
        }
    }

    /// Whether the window shrinks for a full interface.
    pub(super) const fn is_shrinking(&self) -> bool {
        self.shrinking.is_some()
    }

    /// Begins to shrink the window down to `target`, until the packets before `point` are acknowledged.
    pub(super) const fn shrink_towards(&mut self, target: f64, point: u64) {
        self.shrinking = Some(Shrinking {
            target,
            point,
            is_second: false,
        });
    }

    /// The window has reached the target, or must do so at once.
    fn end_shrinking(&mut self, window: &mut Window) -> bool {
        match self.shrinking.take() {
            Some(Shrinking { target, .. }) => {
                window.cwnd = window.cwnd.min(target);
                true
            }
            None => false,
        }
    }
}

impl WindowRules for TcpRules {
    fn on_ack(&mut self, window: &mut Window) {
        let Some(shrinking) = &mut self.shrinking else {
            return;
        };
        if shrinking.is_second && window.cwnd > shrinking.target {
            window.cwnd = (window.cwnd - 1.0).max(shrinking.target);
        }
        shrinking.is_second = !shrinking.is_second;
        if self.una >= shrinking.point {
            self.end_shrinking(window);
        }
    }

    fn sample(&self, rtt: &mut RttEstimator, sample: Duration, is_first: bool, is_old: bool) {
        if self.samples_every_ack || is_first {
            if self.keeps_backoff && is_old {
                rtt.sample_while_doubled(sample);
            } else {
                rtt.sample(sample);
            }
        }
    }

    fn absorbs_congestion(&mut self, window: &mut Window) -> bool {
        // A loss while the window shrinks asks for as much.
        self.end_shrinking(window)
    }

    fn may_grow(&self, is_recovering: bool) -> bool {
        // RFC 6675 §5: what was in flight at a loss is acknowledged first. RFC 5681 §3.1: reports of later packets do
        // not count. After a timeout this matters: if the oldest packet is lost again, only the next timeout finds it.
        self.is_advance && !is_recovering && self.shrinking.is_none()
    }

    fn restarts_timeout(&self, fb: &Feedback<'_>) -> bool {
        // RFC 6298 §5.3: the oldest packet in flight may have to be sent again while later ones are reported.
        self.is_advance && fb.acked.packets + fb.marked.packets > 0
    }

    fn on_timeout(&mut self) {
        self.shrinking = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shrinking(cwnd: f64, target: f64) -> (TcpRules, Window) {
        let mut rules = TcpRules::new(&Config::default());
        rules.shrink_towards(target, 20);
        let window = Window {
            cwnd,
            ssthresh: target,
        };
        (rules, window)
    }

    #[test]
    fn a_full_interface_takes_a_packet_of_every_second_acknowledgement() {
        let (mut rules, mut window) = shrinking(13.0, 10.0);
        let windows: Vec<_> = (0..8)
            .map(|_| {
                rules.on_ack(&mut window);
                window.packets()
            })
            .collect();
        assert_eq!(windows, [13, 12, 12, 11, 11, 10, 10, 10]);
        rules.is_advance = true;
        assert!(rules.is_shrinking() && !rules.may_grow(false));
    }

    #[test]
    fn it_ends_with_the_packets_that_had_left_when_it_began() {
        let (mut rules, mut window) = shrinking(30.0, 10.0);
        for (una, packets, is_shrinking) in [(10, 30, true), (19, 29, true), (20, 10, false)] {
            rules.una = una;
            rules.on_ack(&mut window);
            assert_eq!(
                (window.packets(), rules.is_shrinking()),
                (packets, is_shrinking)
            );
        }
        rules.is_advance = true;
        assert!(rules.may_grow(false));
    }

    #[test]
    fn only_acknowledgements_in_order_let_the_window_grow() {
        let mut rules = TcpRules::new(&Config::default());
        assert!(!rules.may_grow(false));
        rules.is_advance = true;
        assert!(rules.may_grow(false) && !rules.may_grow(true));
    }

    #[test]
    fn a_loss_meanwhile_is_the_same_event() {
        let (mut rules, mut window) = shrinking(20.0, 10.0);
        rules.is_advance = true;
        assert!(!rules.may_grow(false));
        assert!(rules.absorbs_congestion(&mut window));
        assert_eq!(window.packets(), 10);
        assert!(!rules.absorbs_congestion(&mut window));
    }

    #[test]
    fn a_timeout_ends_it() {
        let (mut rules, _) = shrinking(20.0, 10.0);
        rules.on_timeout();
        assert!(!rules.is_shrinking());
    }

    #[test]
    fn samples_and_backoff_are_as_configured() {
        let sample = Duration::from_millis(100);
        for (samples_every_ack, keeps_backoff, is_first, is_doubled) in [
            (false, false, false, true),
            (false, false, true, false),
            (true, false, false, false),
            (true, true, true, true),
        ] {
            let rules = TcpRules::new(&Config {
                samples_every_ack,
                keeps_backoff,
                ..Config::default()
            });
            let mut rtt = RttEstimator::new(Duration::from_millis(200), Duration::ZERO);
            rtt.back_off();
            rules.sample(&mut rtt, sample, is_first, true);
            assert_eq!(rtt.is_backed_off(), is_doubled);
        }
    }
}
