//! The text of the MIB (`SMIv2`, RFC 2578), made from the tables.

use super::DESCRIPTION;
use crate::gauges::GAUGES;
use crate::host_gauges::HOST_GAUGES;
use crate::table::{GROUPS, counters};
use crate::unit::Unit;
use core::fmt::Write;

/// The date of the MIB's last change. To be changed with each.
const REVISION: &str = "202611290000Z";

/// The text of `USRDCCP-MIB`.
pub fn mib() -> String {
    let mut mib = Mib(HEAD.replace('@', REVISION));
    mib.totals();
    mib.host();
    mib.connections();
    mib.conformance();
    mib.0.push_str("\nEND\n");
    mib.0
}

const HEAD: &str = r#"USRDCCP-MIB DEFINITIONS ::= BEGIN

-- Counters of DCCP (RFC 4340) of a host whose DCCP runs in user space.
-- Generated from the tables of crates/dccp-counters; docs/counters.md describes each object.

IMPORTS
    MODULE-IDENTITY, OBJECT-TYPE, Counter64, Gauge32, Unsigned32, TimeTicks, enterprises
        FROM SNMPv2-SMI
    DisplayString
        FROM SNMPv2-TC
    MODULE-COMPLIANCE, OBJECT-GROUP
        FROM SNMPv2-CONF;

usrdccpMIB MODULE-IDENTITY
    LAST-UPDATED "@"
    ORGANIZATION "usrdccp"
    CONTACT-INFO "https://github.com/usrdccp/usrdccp"
    DESCRIPTION
        "Counters of DCCP of a whole host and of its connections.

        The number of this module is not assigned. It lies below
        netSnmpPlaypen, which net-snmp leaves to experiments, and
        changes when a number is assigned."
    REVISION "@"
    DESCRIPTION
        "First version."
    ::= { enterprises netSnmp(8072) netSnmpExperimental(9999) netSnmpPlaypen(9999) 4340 }

dccpObjects     OBJECT IDENTIFIER ::= { usrdccpMIB 1 }
dccpConformance OBJECT IDENTIFIER ::= { usrdccpMIB 2 }
dccpTotals      OBJECT IDENTIFIER ::= { dccpObjects 1 }
dccpHost        OBJECT IDENTIFIER ::= { dccpObjects 2 }
"#;

struct Mib(String);

/// Writes to a text, which cannot fail.
macro_rules! push {
    ($mib:ident, $($text:tt)*) => {
        let _ = writeln!($mib.0, $($text)*);
    };
}

impl Mib {
    fn totals(&mut self) {
        for (arc, group, title) in GROUPS {
            push!(
                self,
                "\n-- {title}\n{group} OBJECT IDENTIFIER ::= {{ dccpTotals {arc} }}"
            );
            for row in counters().iter().filter(|row| row.arcs[0] == *arc) {
                let place = format!("{group} {}", row.arcs[1]);
                self.object(
                    &row.object,
                    "Counter64",
                    row.unit.words(),
                    &row.help,
                    &place,
                );
            }
        }
    }

    fn host(&mut self) {
        push!(self, "\n-- Gauges of the host");
        for row in HOST_GAUGES {
            let (syntax, unit) = match row.unit {
                Unit::Seconds => ("TimeTicks", "hundredths of a second"),
                unit => ("Gauge32", unit.words()),
            };
            let place = format!("dccpHost {}", row.member);
            self.object(row.object, syntax, unit, row.help, &place);
        }
    }

    fn connections(&mut self) {
        push!(self, "\n-- Connections\n{CONNECTIONS}");
        push!(self, "DccpConnEntry ::= SEQUENCE {{");
        let columns = columns();
        let entries = columns
            .iter()
            .map(|c| format!("    {} {}", c.object, c.syntax));
        let index = ["    dccpConnIndex Unsigned32".to_owned()].into_iter();
        push!(
            self,
            "{}\n}}",
            index.chain(entries).collect::<Vec<_>>().join(",\n")
        );
        push!(self, "{INDEX}");
        for column in &columns {
            let place = format!("dccpConnEntry {}", column.number);
            self.object(
                &column.object,
                column.syntax,
                column.unit,
                &column.help,
                &place,
            );
        }
    }

    fn conformance(&mut self) {
        push!(self, "\n-- Conformance");
        push!(
            self,
            "dccpCompliances OBJECT IDENTIFIER ::= {{ dccpConformance 1 }}"
        );
        push!(
            self,
            "dccpGroups      OBJECT IDENTIFIER ::= {{ dccpConformance 2 }}"
        );
        push!(self, "{COMPLIANCE}");
        let totals = counters().iter().map(|row| row.object.clone());
        self.group("dccpTotalsGroup", "Counters of the host.", totals, 1);
        let host = HOST_GAUGES.iter().map(|row| row.object.into());
        self.group("dccpHostGroup", "Gauges of the host.", host, 2);
        let columns = columns().into_iter().map(|column| column.object);
        self.group("dccpConnGroup", "Connections.", columns, 3);
    }

    fn object(&mut self, name: &str, syntax: &str, unit: &str, help: &str, place: &str) {
        push!(self, "\n{name} OBJECT-TYPE");
        push!(self, "    SYNTAX      {syntax}");
        if !unit.is_empty() {
            push!(self, "    UNITS       \"{unit}\"");
        }
        push!(self, "    MAX-ACCESS  read-only");
        push!(self, "    STATUS      current");
        push!(self, "    DESCRIPTION");
        push!(self, "        \"{}.\"", help.replace('"', "'"));
        push!(self, "    ::= {{ {place} }}");
    }

    fn group(&mut self, name: &str, help: &str, objects: impl Iterator<Item = String>, arc: u32) {
        let objects: Vec<_> = objects.map(|object| format!("        {object}")).collect();
        push!(self, "\n{name} OBJECT-GROUP");
        push!(self, "    OBJECTS {{\n{}\n    }}", objects.join(",\n"));
        push!(self, "    STATUS      current");
        push!(self, "    DESCRIPTION\n        \"{help}\"");
        push!(self, "    ::= {{ dccpGroups {arc} }}");
    }
}

/// A column of the table of connections.
struct Column {
    number: u32,
    object: String,
    syntax: &'static str,
    unit: &'static str,
    help: String,
}

/// All columns but the index, in their order.
fn columns() -> Vec<Column> {
    let description = DESCRIPTION
        .iter()
        .map(|(number, object, syntax, help)| Column {
            number: *number,
            object: (*object).into(),
            syntax,
            unit: "",
            help: (*help).into(),
        });
    let counters = counters().iter().filter_map(|row| {
        Some(Column {
            number: row.column?,
            object: row.object.replacen("dccp", "dccpConn", 1),
            syntax: "Counter64",
            unit: row.unit.words(),
            help: row.help.clone(),
        })
    });
    let gauges = GAUGES.iter().map(|row| Column {
        number: row.column,
        object: row.object.into(),
        syntax: "Gauge32",
        unit: row.scaled_unit,
        help: row.help.into(),
    });
    let mut columns: Vec<_> = description.chain(counters).chain(gauges).collect();
    columns.sort_by_key(|column| column.number);
    columns
}

const CONNECTIONS: &str = r#"
dccpConnTable OBJECT-TYPE
    SYNTAX      SEQUENCE OF DccpConnEntry
    MAX-ACCESS  not-accessible
    STATUS      current
    DESCRIPTION
        "The connections that there are."
    ::= { dccpObjects 3 }

dccpConnEntry OBJECT-TYPE
    SYNTAX      DccpConnEntry
    MAX-ACCESS  not-accessible
    STATUS      current
    DESCRIPTION
        "A connection. Gauges without a value have no instance."
    INDEX       { dccpConnIndex }
    ::= { dccpConnTable 1 }
"#;

const INDEX: &str = r#"
dccpConnIndex OBJECT-TYPE
    SYNTAX      Unsigned32 (1..4294967295)
    MAX-ACCESS  not-accessible
    STATUS      current
    DESCRIPTION
        "Number of the connection, which no other connection gets."
    ::= { dccpConnEntry 1 }"#;

const COMPLIANCE: &str = r#"
dccpCompliance MODULE-COMPLIANCE
    STATUS      current
    DESCRIPTION
        "All objects of this module."
    MODULE
    MANDATORY-GROUPS { dccpTotalsGroup, dccpHostGroup, dccpConnGroup }
    ::= { dccpCompliances 1 }"#;
