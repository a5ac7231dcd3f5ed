//! The agent of net-snmp reads a live host by `pass_persist`.

use crate::mib;
use crate::path::Talk;
use core::time::Duration;
use dccp_counters::Snapshot;
use dccp_counters::gauges::GAUGES;
use dccp_counters::host_gauges::HOST_GAUGES;
use dccp_counters::snmp::{BASE_OID, pass_persist};
use dccp_counters::table::counters;
use dccp_dev::shell::{command, find_program, output};
use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;

/// The agent, which ends with the test.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the agent at `port`. Its program connects its streams with the TCP port `counters`.
fn start(folder: &Path, port: u16, counters: u16) -> Agent {
    let program = folder.join("program");
    let script = format!(
        "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{counters}\ncat <&3 &\ncat >&3\nkill $!\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!(
        "rocommunity public 127.0.0.1\npass_persist {BASE_OID} {}\n",
        program.display()
    );
    fs::write(folder.join("snmpd.conf"), config).unwrap();
    let mut agent = Command::new("snmpd");
    agent.args(["-f", "-LF", "6"]).arg(folder.join("log"));
    agent.arg("-C").arg("-c").arg(folder.join("snmpd.conf"));
    agent.args(["-I", "-smux,diskio,mteTrigger"]);
    agent.arg(format!("udp:127.0.0.1:{port}"));
    agent.env("SNMP_PERSISTENT_DIR", folder).env("MIBS", "");
    Agent(agent.spawn().unwrap())
}

/// All objects below `oid`, with their values.
fn walk(folder: &Path, port: u16, oid: &str) -> BTreeMap<String, String> {
    let mut walk = command(&[
        "snmpbulkwalk",
        "-v2c",
        "-c",
        "public",
        "-Onq",
        "-r",
        "20",
        "-t",
        "1",
        "-m",
        "",
    ]);
    walk.arg(format!("udp:127.0.0.1:{port}")).arg(oid);
    walk.env("SNMP_PERSISTENT_DIR", folder);
    let text = output(&mut walk).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(oid, value)| (oid.into(), value.trim_matches('"').into()))
        .collect()
}

#[test]
fn agent_serves_the_counters_of_a_live_host() {
    for program in ["snmpd", "snmpbulkwalk", "bash"] {
        if find_program(program).is_none() {
            println!("SKIP agent_serves_the_counters_of_a_live_host: needs {program}");
            return;
        }
    }
    let talk = Talk::start(50);
    let served: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
    let counters_at = TcpListener::bind("127.0.0.1:0").unwrap();
    let counters_port = counters_at.local_addr().unwrap().port();
    let (host, kept) = (talk.hosts[0].clone(), served.clone());
    thread::spawn(move || {
        for stream in counters_at.incoming() {
            let stream = stream.unwrap();
            let mut read = || {
                let snapshot = host.snapshot();
                kept.lock().unwrap().push(snapshot.clone());
                Ok(snapshot)
            };
            // The agent ends when the test does.
            let _ = pass_persist(stream.try_clone().unwrap(), stream, &mut read);
        }
    });
    let folder = mib::folder("agent");
    let port = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let agent = start(&folder, port, counters_port);

    talk.load(500);
    let idle = walk(&folder, port, BASE_OID);
    let loaded = thread::scope(|scope| {
        scope.spawn(|| talk.load(2000));
        thread::sleep(Duration::from_millis(50));
        walk(&folder, port, BASE_OID)
    });
    thread::sleep(Duration::from_millis(1100));
    let last = walk(&folder, port, BASE_OID);
    let served = served.lock().unwrap();
    let value = |walked: &BTreeMap<String, String>, oid: &str| -> u64 {
        let value = walked.get(oid).unwrap_or_else(|| panic!("no object {oid}"));
        value.parse().unwrap_or_else(|_| panic!("{oid}: {value}"))
    };
    for (row, end) in served.last().unwrap().totals.rows() {
        let oid = format!("{BASE_OID}.1.1.{}.{}.0", row.arcs[0], row.arcs[1]);
        let start = served[0].totals.get(&row.key()).unwrap();
        let seen = [&idle, &loaded, &last].map(|walked| value(walked, &oid));
        assert!(seen.is_sorted(), "{}: {seen:?}", row.object);
        assert!(
            start <= seen[0] && seen[2] <= end,
            "{}: {start}, {seen:?}, {end}",
            row.object
        );
    }
    let sent = format!("{BASE_OID}.1.1.3.1.0");
    assert_eq!((value(&idle, &sent), value(&last, &sent)), (500, 2500));
    for row in HOST_GAUGES {
        let oid = format!("{BASE_OID}.1.2.{}.0", row.member);
        assert!(last.contains_key(&oid), "{}", row.object);
    }
    let cell = |column: u32| last.get(&format!("{BASE_OID}.1.3.1.{column}.1")).unwrap();
    let connection = &served.last().unwrap().connections[0];
    assert_eq!(cell(2), "1000");
    assert_eq!((cell(3), cell(4)), (&connection.local, &connection.remote));
    assert_eq!((cell(6).as_str(), cell(8).as_str()), ("2", "OPEN"));
    assert_eq!(cell(24), "2500");
    for row in counters().iter().filter_map(|row| row.column) {
        assert!(cell(row).parse::<u64>().is_ok());
    }
    for (row, _) in connection.gauges.rows() {
        assert!(cell(row.column).parse::<u32>().is_ok(), "{}", row.object);
    }
    assert!(connection.gauges.rows().count() >= GAUGES.len() / 2);

    // Nothing can be set, and the walk ends where the objects end.
    let mut setting = command(&["snmpset", "-v2c", "-c", "public", "-m", ""]);
    setting
        .arg(format!("udp:127.0.0.1:{port}"))
        .args([&sent, "C", "1"]);
    assert!(
        !setting
            .env("SNMP_PERSISTENT_DIR", &folder)
            .output()
            .unwrap()
            .status
            .success()
    );
    assert!(last.keys().all(|oid| oid.starts_with(BASE_OID)));
    drop(agent);
    talk.path.end();
}
