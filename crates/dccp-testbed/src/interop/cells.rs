//! The cells of the matrix.

use std::fmt;

/// One run of one connection between the kernel and us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    /// We connect to the kernel; otherwise we listen.
    pub(super) we_connect: bool,
    pub(super) is_v6: bool,
    pub(super) ccid: u8,
    /// Of a message, bytes.
    pub(super) size: usize,
    pub(super) plan: Plan,
}

/// The plan of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// Data both ways, the client closes.
    Clean,
    /// The same as fast as it goes, 1 % of the packets lost each way.
    Loss,
    /// Checksums that cover the header only, both ways.
    Coverage,
    /// The Service Code is not the listener's.
    WrongService,
    /// No program listens on the port.
    ClosedPort,
    /// We close first.
    WeClose,
    /// The kernel closes first.
    LinuxCloses,
    /// So fast that the kernel moves its Sequence Window and Ack Ratio while data flows.
    Renegotiation,
    /// Ten minutes of data both ways: more than 2^16 packets each.
    Long,
}

impl Cell {
    pub(super) fn name(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = if self.we_connect { "connect" } else { "listen" };
        let family = if self.is_v6 { 6 } else { 4 };
        let plan = match self.plan {
            Plan::Clean => "clean",
            Plan::Loss => "loss",
            Plan::Coverage => "coverage",
            Plan::WrongService => "wrong-service",
            Plan::ClosedPort => "closed-port",
            Plan::WeClose => "we-close",
            Plan::LinuxCloses => "linux-closes",
            Plan::Renegotiation => "renegotiation",
            Plan::Long => "ten-minutes",
        };
        write!(f, "{role}-v{family}-ccid{}-{plan}-{}", self.ccid, self.size)
    }
}

/// {we connect, we listen} × {IPv4, IPv6} × {CCID 2, CCID 3} × {clean, loss} × {256 B, 1400 B},
/// and the cells for one question each.
pub(super) fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for plan in [Plan::Clean, Plan::Loss] {
        for size in [256, 1400] {
            cells.extend(quarter(plan, size));
        }
    }
    let plans = [
        Plan::Coverage,
        Plan::WrongService,
        Plan::ClosedPort,
        Plan::WeClose,
        Plan::LinuxCloses,
        Plan::Renegotiation,
    ];
    for plan in plans {
        for we_connect in [true, false] {
            cells.push(Cell {
                we_connect,
                is_v6: false,
                ccid: 2,
                size: 256,
                plan,
            });
        }
    }
    cells.push(Cell {
        we_connect: true,
        is_v6: false,
        ccid: 2,
        size: 256,
        plan: Plan::Long,
    });
    cells
}

/// Both roles, both families, both CCIDs: for every push.
pub(super) fn short() -> Vec<Cell> {
    quarter(Plan::Clean, 1400)
}

fn quarter(plan: Plan, size: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for we_connect in [true, false] {
        for is_v6 in [false, true] {
            for ccid in [2, 3] {
                cells.push(Cell {
                    we_connect,
                    is_v6,
                    ccid,
                    size,
                    plan,
                });
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_whole_and_names_are_unique() {
        let cells = all();
        assert_eq!(cells.len(), 32 + 12 + 1);
        assert_eq!(short().len(), 8);
        let mut names: Vec<_> = cells.iter().map(Cell::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cells.len());
        assert!(names.contains(&"listen-v6-ccid3-loss-1400".to_owned()));
    }
}
