//! The matrix.

/// A law as both simulators have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Law {
    pub(super) name: &'static str,
    /// As our simulator's program takes it.
    pub(super) ours: &'static str,
    /// How its transport is what ns-2 has, as words for our program.
    pub(super) transport: &'static [&'static str],
    /// As the script for ns-2 takes it.
    pub(super) ns2: &'static str,
}

const fn law(
    name: &'static str,
    ours: &'static str,
    transport: &'static [&'static str],
    ns2: &'static str,
) -> Law {
    Law {
        name,
        ours,
        transport,
        ns2,
    }
}

/// The timeout of ns-2's TCP.
const TCP: &[&str] = &["every_ack=yes"];
/// The same with a law whose module names a window for the time of a recovery (`min_cwnd`).
const HALVED: &[&str] = &["every_ack=yes", "halved=yes"];

/// The law that the others compete with.
pub(super) const RENO: Law = law("reno", "tcp/reno-linux", HALVED, "reno");

/// Our laws with options that make them equal to ns-2's, which are those of Linux 2.6.22.
const LAWS: [Law; 10] = [
    RENO,
    law("highspeed", "tcp/highspeed-2.6.22", HALVED, "highspeed"),
    law("scalable", "tcp/scalable-2.6.22", HALVED, "scalable"),
    law("bic", "tcp/bic-linux", TCP, "bic"),
    law("cubic", "tcp/cubic-2.6.22", TCP, "cubic"),
    law("htcp", "tcp/htcp-linux", TCP, "htcp"),
    law("vegas", "tcp/vegas-2.6.22", HALVED, "vegas"),
    law("westwood", "tcp/westwood-ns2", TCP, "westwood"),
    // TCPlike paces nothing: it has a delay between packets and never sets it.
    law("ccid2", "dccp/tcplike-ns2", &[], "dccp-tcplike"),
    law("ccid3", "dccp/tfrc", &[], "dccp-tfrc"),
];

impl Law {
    /// Whether it is one of DCCP.
    pub(super) fn is_dccp(self) -> bool {
        matches!(self.name, "ccid2" | "ccid3")
    }

    /// Rates in Mbit/s. ns-2's DCCP walks through its lists of packets at every acknowledgement: a
    /// minute at 450 Mbit/s takes it two.
    fn rates(self) -> &'static [u32] {
        if self.is_dccp() { &[100] } else { &[100, 450] }
    }
}

/// One scenario.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Cell {
    pub(super) law: Law,
    /// Of the bottleneck, in Mbit/s.
    pub(super) rate: u32,
    /// The queue in quarters of rate × round trip.
    pub(super) quarters: u32,
    /// One flow is alone; of more, half are Reno.
    pub(super) flows: usize,
}

/// Round trip without queues, in milliseconds: nearly, see [`Cell::rtt`].
const RTT: u32 = 70;
/// Bytes of a packet.
const PACKET: u32 = 1500;
pub(super) fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for law in LAWS {
        for &rate in law.rates() {
            for quarters in [1, 4, 16] {
                for flows in [1, 2, 16] {
                    cells.push(Cell {
                        law,
                        rate,
                        quarters,
                        flows,
                    });
                }
            }
        }
    }
    cells
}

impl Cell {
    /// `cubic/100M/q0.25/2`.
    pub(super) fn name(&self) -> String {
        let queue = f64::from(self.quarters) / 4.0;
        format!("{}/{}M/q{queue}/{}", self.law.name, self.rate, self.flows)
    }

    /// Whether the cell is of the small set: two or sixteen flows at 100 Mbit/s.
    pub(super) fn is_quick(&self) -> bool {
        self.rate == 100 && matches!((self.quarters, self.flows), (1, 2) | (4, 1 | 16))
    }

    /// Round trip without queues, in milliseconds. At 450 Mbit/s and exactly 70 ms, a packet that an
    /// acknowledgement releases arrives 0.9 µs before the full queue has room. Details then decide which flow
    /// loses the packet. One microsecond more avoids that.
    pub(super) fn rtt(&self) -> &'static str {
        if self.rate == 100 { "70" } else { "70.001" }
    }

    /// Packets of rate × round trip.
    pub(super) fn bdp(&self) -> u32 {
        self.rate * 1000 * RTT / (8 * PACKET)
    }

    /// A flow's fair share of it in packets, where the first slow start ends.
    pub(super) fn fair_share(&self) -> usize {
        self.bdp() as usize / self.flows
    }

    /// Seconds of each run, and those at its begin that do not count.
    pub(super) fn time(&self) -> (u32, u32) {
        if self.rate == 100 { (90, 20) } else { (40, 10) }
    }

    /// The number of start offsets, if other cells have `of_others`. A lone flow has one, because its start
    /// changes nothing.
    pub(super) fn offsets(&self, of_others: usize) -> usize {
        if self.flows == 1 { 1 } else { of_others }
    }

    /// Most packets that wait in one of the runs. CCID 2 sends in pairs, so the room for another flow's packet
    /// depends on which packet of a pair is in the queue. That repeats every four packets of the windows. The
    /// runs cover all four.
    pub(super) fn queue(&self, run: usize) -> u32 {
        let is_in_pairs = self.law.name == "ccid2";
        let more = if is_in_pairs {
            [0, 1, 2, 3][run % 4]
        } else {
            0
        };
        self.bdp() * self.quarters / 4 + more
    }

    /// Whether a flow is of the cell's law, or else Reno.
    pub(super) fn is_major(&self, flow: usize) -> bool {
        flow < self.flows.div_ceil(2)
    }

    /// When a flow starts in one of the runs: within the first second, spread evenly over flows and
    /// runs by the golden ratio.
    pub(super) fn start(&self, run: usize, flow: usize) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let turn = u32::try_from(run * self.flows + flow).map_or(0.0, f64::from);
        ((turn * GOLDEN).fract() * 1000.0).round() / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_has_its_cells_and_three_quick_ones() {
        let cells = all();
        assert_eq!(cells.len(), LAWS.len() * 18 - 2 * 9);
        let quick = cells.iter().filter(|cell| cell.is_quick());
        assert_eq!(quick.count(), LAWS.len() * 3);
    }

    #[test]
    fn a_cell_says_what_it_is() {
        let cell = all()[9 + 4];
        assert_eq!(cell.name(), "reno/450M/q1/2");
        assert_eq!((cell.bdp(), cell.queue(1)), (2625, 2625));
        assert_eq!([&cell, &all()[0]].map(Cell::rtt), ["70.001", "70"]);
        assert!(cell.is_major(0) && !cell.is_major(1));
        assert_eq!((cell.fair_share(), cell.time()), (1312, (40, 10)));
        assert_eq!([&cell, &all()[0]].map(|c| c.offsets(20)), [20, 1]);
    }

    #[test]
    fn runs_of_ccid_2_have_four_lengths_of_queue() {
        let cells = all();
        let queues = |name: &str| {
            let cell = cells.iter().find(|cell| cell.name() == name);
            [0, 1, 2, 3, 4].map(|run| cell.unwrap().queue(run))
        };
        assert_eq!(queues("ccid2/100M/q0.25/2"), [145, 146, 147, 148, 145]);
        assert_eq!(queues("ccid3/100M/q0.25/2"), [145; 5]);
    }

    #[test]
    fn starts_are_spread_over_the_first_second() {
        let cell = all()[1];
        let mut starts: Vec<f64> = (0..20)
            .flat_map(|run| [0, 1].map(|flow| cell.start(run, flow)))
            .collect();
        starts.sort_by(f64::total_cmp);
        let gaps = starts.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.fold(0.0, f64::max) < 0.05);
        assert!(starts[0] >= 0.0 && starts[39] < 1.0);
    }
}
