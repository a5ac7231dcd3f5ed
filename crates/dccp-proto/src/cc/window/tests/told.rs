//! The arguments that a law receives with an acknowledgement.

use super::*;

/// A law that keeps the window and shows, as its inner values, its arguments.
#[derive(Default)]
struct Witness {
    heard: Vec<(&'static str, f64)>,
}

impl Law for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn on_ack(&mut self, _window: &mut Window, ack: &Ack) {
        self.heard.extend([
            ("ack: flight", f64::from(ack.flight)),
            ("ack: marked", f64::from(ack.marked)),
        ]);
    }

    fn on_congestion(&mut self, _window: &mut Window, event: &Congestion) {
        let name = match event.cause {
            Cause::Loss => "loss",
            Cause::Mark => "mark",
        };
        self.heard.extend([
            (name, f64::from(event.packets)),
            ("flight", f64::from(event.flight)),
        ]);
    }

    fn on_timeout(&mut self, _window: &mut Window, _now: Instant) {}

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend(&self.heard);
    }
}

#[test]
fn a_law_receives_the_counts_of_packets_in_flight_lost_and_marked() {
    // 4341-7-1, 4340-11.7.2-4: a corrupt packet is as good as a marked one; beside a loss, both are
    // part of its event.
    for (lost, event) in [(5, ("loss", 12.0)), (0, ("mark", 7.0))] {
        let mut s = WindowSender::new(&config(), Box::<Witness>::default(), Ccid2Rules);
        send(&mut s, START, 1, 0);
        let fb = Feedback {
            acked: packets(2),
            marked: packets(3),
            lost: packets(lost),
            pipe: 7,
            drops: Drops {
                corrupt: 4,
                ..Drops::default()
            },
            congestion: Some(Seq::new(1)),
            ..feedback()
        };
        s.on_feedback(at(100), &fb, 2);
        let flight = f64::from(12 + lost);
        let shown = s.snapshot();
        assert_eq!(shown.law, Some("witness"));
        let expected = [
            event,
            ("flight", flight),
            ("ack: flight", flight),
            ("ack: marked", 7.0),
        ];
        assert_eq!(shown.inner, expected);
    }
}
