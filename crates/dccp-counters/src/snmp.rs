//! The counters as objects of SNMP, for `pass_persist` of net-snmp's agent.
//!
//! The arc is in the part of net-snmp's tree that is left to experiments. No authority has assigned it to DCCP.
//!
//! ```text
//! usrdccpMIB  1.3.6.1.4.1.8072.9999.9999.4340
//! ├─ 1 dccpObjects
//! │  ├─ 1 dccpTotals     .group.member.0    counters of the host
//! │  ├─ 2 dccpHost       .member.0          gauges of the host
//! │  └─ 3 dccpConnTable  .1.column.index    connections
//! └─ 2 dccpConformance
//! ```

mod mib;
mod pass_persist;
mod tree;

pub use mib::mib;
pub use pass_persist::pass_persist;

/// `usrdccpMIB`.
const BASE: [u32; 10] = [1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 4340];
/// The number of the MIB as `snmpd.conf` has it.
pub const BASE_OID: &str = ".1.3.6.1.4.1.8072.9999.9999.4340";

/// `dccpTotals`, `dccpHost` and `dccpConnEntry` below [`BASE`].
const TOTALS: [u32; 2] = [1, 1];
const HOST: [u32; 2] = [1, 2];
const ENTRY: [u32; 3] = [1, 3, 1];

/// Columns that describe a connection: column, object, syntax, meaning.
const DESCRIPTION: &[(u32, &str, &str, &str)] = &[
    (
        2,
        "dccpConnUser",
        "Unsigned32",
        "User ID of the application",
    ),
    (
        3,
        "dccpConnLocal",
        "DisplayString",
        "Address of this end: IP address, UDP port (0 over IP), DCCP port",
    ),
    (4, "dccpConnRemote", "DisplayString", "Address of the peer"),
    (5, "dccpConnService", "DisplayString", "Service Code"),
    (
        6,
        "dccpConnCcidTx",
        "Unsigned32",
        "CCID of the half-connection that this end sends on",
    ),
    (
        7,
        "dccpConnCcidRx",
        "Unsigned32",
        "CCID of the other half-connection",
    ),
    (
        8,
        "dccpConnState",
        "DisplayString",
        "State by its name in RFC 4340, section 8.4",
    ),
    (
        9,
        "dccpConnAge",
        "Gauge32",
        "Seconds since the connection was opened",
    ),
];
