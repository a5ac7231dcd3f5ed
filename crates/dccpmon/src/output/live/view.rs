//! The picture: rate, round trip, window and losses as curves, with their values beside them.

use crate::output::{safeudp as safe_udp, text};
use crate::schema::{Interval, IntervalFlow, Missing};
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Sparkline};
use std::collections::VecDeque;

/// Intervals that a curve remembers: wider terminals are rare.
const POINTS_MAX: usize = 500;

/// One curve.
struct Curve {
    name: &'static str,
    /// Whether it shows the first flow only, not the sum of all.
    is_of_first: bool,
    /// A point for each interval, also where the value is not known, so that the curves share their time.
    points: VecDeque<Option<f64>>,
    colour: Color,
    show: fn(f64) -> String,
}

impl Curve {
    fn new(name: &'static str, colour: Color, show: fn(f64) -> String) -> Self {
        Self {
            name,
            is_of_first: false,
            points: VecDeque::new(),
            colour,
            show,
        }
    }

    fn of_first(self) -> Self {
        Self {
            is_of_first: true,
            ..self
        }
    }

    fn push(&mut self, value: Option<f64>) {
        if self.points.len() == POINTS_MAX {
            self.points.pop_front();
        }
        self.points.push_back(value);
    }

    /// The name with the last, least and greatest value.
    fn title(&self, flows: usize) -> String {
        let flow = if self.is_of_first && flows > 1 {
            " (flow 1)"
        } else {
            ""
        };
        let known = || self.points.iter().flatten().copied();
        let Some(newest) = known().next_back() else {
            return format!(" {}{flow}: not known yet", self.name);
        };
        let min = known().fold(f64::INFINITY, f64::min);
        let max = known().fold(0.0, f64::max);
        let show = self.show;
        let (newest, min, max) = (show(newest), show(min), show(max));
        format!(" {}{flow} {newest}   min {min}   max {max}", self.name)
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, flows: usize, has_colour: bool) {
        let [title, curve] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        frame.render_widget(Line::from(self.title(flows)), title);
        let most = self.points.iter().flatten().copied().fold(0.0, f64::max);
        let skipped = self.points.len().saturating_sub(curve.width.into());
        // A thousand steps are finer than the cells of any terminal.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 1,000"
        )]
        let height = |value: f64| {
            if most > 0.0 {
                (value / most * 1_000.0) as u64
            } else {
                0
            }
        };
        let points = self.points.iter().skip(skipped);
        let heights = points.map(|value| value.map(height));
        let style = if has_colour {
            Style::new().fg(self.colour)
        } else {
            Style::new()
        };
        let line = Sparkline::default()
            .data(heights.collect::<Vec<_>>())
            .max(1_000)
            .style(style);
        frame.render_widget(line, curve);
    }
}

/// The totals of CCID 248, of all flows together.
#[derive(Default)]
struct Totals {
    missing: Missing,
    dropped: u64,
    trips: u64,
}

impl Totals {
    fn add(&mut self, interval: &Interval) {
        let flows = interval.flows.iter();
        for of in flows.filter_map(|flow| flow.safe_udp.as_ref()) {
            self.missing = self.missing.plus(of.missing);
            self.dropped = self.dropped.saturating_add(of.dropped_packets);
            self.trips = self.trips.saturating_add(of.trips_n);
        }
    }

    fn line(&self) -> String {
        format!(
            " SafeUDP: {}, dropped {}, trips {}",
            safe_udp::places(&self.missing).join(", "),
            self.dropped,
            self.trips
        )
    }
}

/// The state of the view.
pub(super) struct View {
    title: String,
    duration_ns: u64,
    elapsed_ns: u64,
    curves: [Curve; 4],
    flows: usize,
    sent: u64,
    received: u64,
    /// Packets that have not arrived so far.
    missing: u64,
    state: String,
    /// Of CCID 248 only.
    safe_udp: Option<Totals>,
    marks: usize,
    is_paused: bool,
    has_colour: bool,
}

impl View {
    pub(super) fn new(title: &str, duration_ns: u64, has_colour: bool) -> Self {
        // The colours of Okabe and Ito, which people with any colour vision tell apart.
        let curves = [
            Curve::new("goodput", Color::Rgb(0x56, 0xB4, 0xE9), units::rate),
            Curve::new("round trip p50, ms", Color::Rgb(0xE6, 0x9F, 0x00), |ms| {
                format!("{ms:.3}")
            })
            .of_first(),
            Curve::new("window, packets", Color::Rgb(0x00, 0x9E, 0x73), |packets| {
                format!("{packets:.0}")
            })
            .of_first(),
            Curve::new("lost packets", Color::Rgb(0xCC, 0x79, 0xA7), |packets| {
                format!("{packets:.0}")
            }),
        ];
        Self {
            title: title.to_owned(),
            duration_ns,
            elapsed_ns: 0,
            curves,
            flows: 1,
            sent: 0,
            received: 0,
            missing: 0,
            state: String::new(),
            safe_udp: None,
            marks: 0,
            is_paused: false,
            has_colour,
        }
    }

    /// Adds an interval: sums of all flows, the round trip and the window of the first.
    pub(super) fn add(&mut self, interval: &Interval) {
        let sum = |of: fn(&IntervalFlow) -> Option<u64>| -> Option<u64> {
            interval.flows.iter().map(of).sum()
        };
        self.flows = interval.flows.len();
        let sent = sum(|flow| flow.sent_packets).unwrap_or(0);
        self.sent = self.sent.saturating_add(sent);
        let received = sum(|flow| flow.received_packets).unwrap_or(0);
        self.received = self.received.saturating_add(received);
        let lost = sum(|flow| flow.lost_packets);
        let recovered = sum(|flow| flow.recovered_packets).unwrap_or(0);
        let missing = self.missing.saturating_add(lost.unwrap_or(0));
        self.missing = missing.saturating_sub(recovered);
        if interval.flows.iter().any(|flow| flow.safe_udp.is_some()) {
            self.show_safe_udp().add(interval);
        }
        if self.is_paused {
            return;
        }
        let goodput = interval.flows.iter().map(|flow| flow.goodput_bps).sum();
        let first = interval.flows.first();
        let rtt_ns = first.and_then(|flow| flow.rtt_ns.as_ref()?.p50);
        if let Some(state) = first.and_then(|flow| flow.cc_state.as_ref()) {
            self.state = state.replace('_', " ");
        }
        let values = [
            goodput,
            rtt_ns.map(|ns| to_f64(ns) / 1e6),
            first.and_then(|flow| match &flow.safe_udp {
                Some(of) => of.advised_bps.or(of.cap_bps),
                None => flow.cwnd_packets,
            }),
            lost.map(to_f64),
        ];
        for (curve, value) in self.curves.iter_mut().zip(values) {
            curve.push(value);
        }
    }

    /// The totals of CCID 248. Its advice takes the place of the window, which it lacks.
    fn show_safe_udp(&mut self) -> &mut Totals {
        if self.safe_udp.is_none() {
            let colour = self.curves[2].colour;
            self.curves[2] = Curve::new("advised rate or cap", colour, units::rate).of_first();
        }
        self.safe_udp.get_or_insert_default()
    }

    pub(super) fn set_time(&mut self, elapsed_ns: u64) {
        self.elapsed_ns = elapsed_ns;
    }

    pub(super) fn set_marks(&mut self, marks: usize) {
        self.marks = marks;
    }

    pub(super) fn toggle_pause(&mut self) {
        self.is_paused = !self.is_paused;
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let rows = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Fill(1),
            Constraint::Fill(1),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(self.safe_udp.is_some().into()),
            Constraint::Length(1),
        ]);
        let [head, a, b, c, d, counts, totals, keys] = rows.areas(frame.area());
        frame.render_widget(Paragraph::new(self.head()), head);
        for (curve, area) in self.curves.iter().zip([a, b, c, d]) {
            curve.draw(frame, area, self.flows, self.has_colour);
        }
        frame.render_widget(Paragraph::new(self.counts()), counts);
        if let Some(of) = &self.safe_udp {
            frame.render_widget(Paragraph::new(of.line()), totals);
        }
        let pause = if self.is_paused { "p go on" } else { "p pause" };
        let marks = match self.marks {
            0 => String::new(),
            marks => format!(" ({marks})"),
        };
        let keys_line = format!(" q end with the summary   m mark{marks}   {pause}");
        frame.render_widget(Paragraph::new(keys_line), keys);
    }

    fn head(&self) -> String {
        format!(
            " {}   {} of {} s",
            self.title,
            units::seconds(self.elapsed_ns.min(self.duration_ns) / 100_000_000 * 100_000_000),
            units::seconds(self.duration_ns)
        )
    }

    fn counts(&self) -> String {
        let known = self.received.saturating_add(self.missing);
        let share = if known == 0 {
            0.0
        } else {
            to_f64(self.missing) / to_f64(known)
        };
        let state = if self.state.is_empty() {
            String::new()
        } else {
            format!("   {}", self.state)
        };
        format!(
            " sent {}   received {}   missing {} ({}){state}",
            self.sent,
            self.received,
            self.missing,
            text::percent(share)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// The picture as lines of text.
    fn lines(view: &View) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| {
            (0..80)
                .map(|x| buffer[(x, y)].symbol().to_owned())
                .collect()
        };
        (0..24).map(row).collect()
    }

    fn filled() -> View {
        let mut view = View::new("bulk to 192.0.2.10", 10_000_000_000, true);
        for mut interval in sample::document().intervals {
            interval.flows[0].goodput_bps = Some(47.6e6);
            view.add(&interval);
        }
        view.add(&sample::document().intervals[0]);
        view.set_time(3_210_000_000);
        view
    }

    #[test]
    fn view_of_ccid_248_has_its_advice_and_its_places() {
        let mut view = View::new("bulk to 192.0.2.10", 10_000_000_000, true);
        for interval in sample::safe_udp().intervals {
            view.add(&interval);
        }
        let text = lines(&view).join("\n");
        for part in [
            " advised rate or cap 50.0 Mbit/s   min 50.0 Mbit/s",
            "missing 4 (0.02 %)   advisory",
            " SafeUDP: network 4, sending host 2, receiving host 4, dropped 0, trips 0",
        ] {
            assert!(text.contains(part), "no {part}: {text}");
        }
    }

    // goal 43: the view draws the figures of the run.
    #[test]
    fn view_draws_what_the_run_says() {
        let lines = lines(&filled());
        let text = lines.join("\n");
        assert!(
            lines[0].starts_with(" bulk to 192.0.2.10   3.2 of 10 s"),
            "{text}"
        );
        assert!(
            text.contains(" goodput 95.2 Mbit/s   min 47.6 Mbit/s   max 95.2 Mbit/s"),
            "{text}"
        );
        assert!(text.contains(" round trip p50, ms 20.400"), "{text}");
        assert!(text.contains(" window, packets 181"), "{text}");
        let counts = " sent 25716   received 25494   missing 6 (0.02 %)   slow start";
        assert!(lines[22].starts_with(counts), "{text}");
        assert!(
            lines[23].starts_with(" q end with the summary   m mark   p pause"),
            "{text}"
        );
        // The last value is twice the others: a column of twice the height.
        let columns = |row: usize| lines[row].chars().filter(|c| *c == '█').count();
        assert_eq!((columns(2), columns(5)), (1, 3), "{text}");
    }

    #[test]
    fn curves_share_their_time() {
        let mut view = filled();
        let mut interval = sample::document().intervals[0].clone();
        interval.flows[0].rtt_ns = None;
        interval.flows.push(interval.flows[0].clone());
        view.add(&interval);
        for curve in &view.curves {
            assert_eq!(curve.points.len(), 4, "{}", curve.name);
        }
        let text = lines(&view).join("\n");
        assert!(
            text.contains(" round trip p50, ms (flow 1) 20.400"),
            "{text}"
        );
        assert!(text.contains(" goodput 190"), "{text}");
    }

    #[test]
    fn late_packets_are_not_missing() {
        let mut view = filled();
        let mut interval = sample::document().intervals[0].clone();
        interval.flows[0].recovered_packets = Some(5);
        view.add(&interval);
        // 4 intervals miss 2 each.
        assert_eq!(view.missing, 3);
    }

    #[test]
    fn pause_freezes_the_curves_but_not_the_counts() {
        let mut view = filled();
        view.toggle_pause();
        view.set_marks(2);
        let before = view.curves[0].points.len();
        view.add(&sample::document().intervals[0]);
        assert_eq!(view.curves[0].points.len(), before);
        assert_eq!(view.sent, 4 * 8_572);
        assert!(lines(&view)[23].contains("m mark (2)   p go on"));
    }

    #[test]
    fn memory_of_a_curve_is_bounded() {
        let mut view = filled();
        for _ in 0..2 * POINTS_MAX {
            view.add(&sample::document().intervals[0]);
        }
        assert_eq!(view.curves[0].points.len(), POINTS_MAX);
    }

    #[test]
    fn small_terminal_is_no_failure() {
        let view = filled();
        for (width, height) in [(1, 1), (10, 3), (300, 100)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| view.draw(frame)).unwrap();
        }
    }

    // goal 61: NO_COLOR leaves the colours out.
    #[test]
    fn colours_are_left_out_on_demand() {
        for has_colour in [true, false] {
            let mut view = filled();
            view.has_colour = has_colour;
            let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
            terminal.draw(|frame| view.draw(frame)).unwrap();
            let cells = terminal.backend().buffer().content();
            assert_eq!(cells.iter().any(|cell| cell.fg != Color::Reset), has_colour);
        }
    }
}
