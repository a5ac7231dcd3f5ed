//! Both hosts, and how the result came about.

use crate::output::html::dash;
use crate::output::summary::cpu;
use crate::schema::{Document, End, Hosts};
use dccp_host::Delta;
use dccp_report::{Section, Table};
use std::collections::BTreeMap;

pub(super) fn fill(section: &mut Section, document: &Document) {
    let mut table = Table::words("", &["", "client", "server"]);
    if let Some(ends) = &document.ends {
        let mut row = |name: &str, of: fn(&End) -> Option<String>| {
            table.row([
                name.to_owned(),
                dash(of(&ends.client)),
                dash(ends.server.as_ref().and_then(of)),
            ]);
        };
        row("dccpmon", |end| Some(end.version.clone()));
        row("system", |end| Some(end.system.clone()));
        row("processor cores", |end| {
            end.cores.map(|cores| cores.to_string())
        });
        row("clock source", |end| end.clock_source.clone());
        row("arrival times by", |end| {
            end.timestamps.map(|source| source.to_string())
        });
    }
    if let Some(hosts) = &document.hosts {
        counters(&mut table, hosts);
    }
    section.table(&table);
    if document
        .hosts
        .as_ref()
        .is_none_or(|hosts| hosts.server.is_none())
    {
        section.absent("The server was lost before it reported.");
    }
    if let Some(hosts) = &document.hosts {
        protocol(section, hosts);
    }
}

fn counters(table: &mut Table, hosts: &Hosts) {
    let mut row = |name: &str, of: fn(&Delta) -> Option<String>| {
        let server = hosts.server.as_ref().and_then(of);
        let client = of(&hosts.client);
        if client.is_some() || server.is_some() {
            table.row([name.to_owned(), dash(client), dash(server)]);
        }
    };
    row("processor time", |host| Some(cpu(Some(host))));
    row("busiest core", |host| {
        let number = host.busiest_core?;
        let core = host
            .cores
            .as_ref()?
            .iter()
            .find(|core| core.core == number)?;
        Some(format!("{number}: {:.0} %", core.busy_ratio() * 100.0))
    });
    row("busiest thread", |host| {
        let threads = host.threads.as_ref()?;
        let percent = threads.runnable_max_ratio * 100.0;
        Some(format!("{}: {percent:.0} %", threads.busiest))
    });
    row("packets per second", |host| {
        host.packets_per_s.map(|rate| format!("{rate:.0}"))
    });
    row("dropped by the interface, in", |host| {
        let interface = host.interface.as_ref()?;
        Some((interface.rx_drop + interface.rx_fifo).to_string())
    });
    row("dropped by the interface, out", |host| {
        let interface = host.interface.as_ref()?;
        Some((interface.tx_drop + interface.tx_fifo).to_string())
    });
    row("dropped by softnet", |host| {
        Some(host.softnet.as_ref()?.dropped.to_string())
    });
    row("UDP receive buffer errors", |host| {
        Some(host.udp.as_ref()?.rcvbuf_errors.to_string())
    });
}

/// The counters of the DCCP stack.
fn protocol(section: &mut Section, hosts: &Hosts) {
    let empty = BTreeMap::new();
    let client = &hosts.client.dccp;
    let server = hosts.server.as_ref().map_or(&empty, |host| &host.dccp);
    let mut names: Vec<&String> = client.keys().chain(server.keys()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let mut table = Table::numbers("Counters of the DCCP stack", &["", "client", "server"]);
    for name in names {
        let count =
            |counters: &BTreeMap<String, u64>| counters.get(name).copied().unwrap_or(0).to_string();
        table.row([name.clone(), count(client), count(server)]);
    }
    section.table(&table);
}

pub(super) fn record(section: &mut Section, document: &Document) {
    let record = &document.record;
    section.code(&record.argv.join(" "));
    let mut lines = vec![
        format!("dccpmon {}", record.program_version),
        format!("schema {}", document.schema),
        format!("exit code {}", document.exit_code),
    ];
    if let Some(seed) = &document.requested.seed {
        lines.push(format!("seed {seed}"));
    }
    section.list(&lines);
}
