//! Engines of their own.

use crate::{PATIENCE, PORT, listen, options, pair, until};
use core::time::Duration;
use dccp::{CloseError, CloseReason, Engine, EngineOptions, Socket};

#[test]
fn engines_do_not_share_anything() {
    let busy = EngineOptions::new().busy_wait(Duration::from_micros(50));
    let (one, two) = (Engine::start(&busy).unwrap(), Engine::start(&busy).unwrap());
    let (client, server) = pair(&options().engine(&one), &options().engine(&two));
    let mut buf = [0; 10];
    for _ in 0..100 {
        client.send(b"ping").unwrap();
        assert_eq!(server.recv(&mut buf), Ok(4));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn engine_ends_when_it_is_unused() {
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        tasks
            .filter_map(|t| std::fs::read_to_string(t.path().join("comm")).ok())
            .filter(|name| name.trim() == "dccp-mine")
            .count()
    };
    let engine = Engine::start(&EngineOptions::new().name("dccp-mine")).unwrap();
    let (client, server) = pair(&options().engine(&engine), &options().engine(&engine));
    drop(engine);
    client.send(b"last words").unwrap();
    assert_eq!(threads(), 1);
    drop(client);
    let mut buf = [0; 20];
    assert_eq!(server.recv(&mut buf), Ok(10));
    drop(server);
    until("the thread has ended", || threads() == 0);
}

#[test]
fn lateness_of_paced_packets_is_measured() {
    let busy = EngineOptions::new().busy_wait(Duration::from_millis(1));
    for engine in [EngineOptions::new(), busy] {
        let options = options().ccid(3).engine(&Engine::start(&engine).unwrap());
        let (client, server) = pair(&options, &options);
        for _ in 0..200 {
            client.send(&[7; 1000]).unwrap();
        }
        let mut buf = [0; 1000];
        assert_eq!(server.recv(&mut buf), Ok(1000));
        until("packets have waited for the pacer", || {
            client.stats().unwrap().pacing.quanta > 0
        });
        let pacing = client.stats().unwrap().pacing;
        assert!(
            pacing.p50 <= pacing.p99 && pacing.p99 <= pacing.max,
            "{pacing:?}"
        );
        // A receiver paces nothing.
        assert_eq!(server.stats().unwrap().pacing.quanta, 0);
    }
}

#[test]
fn wait_idle_returns_when_all_connections_have_ended() {
    let engine = Engine::start(&EngineOptions::new()).unwrap();
    let options = options().engine(&engine);
    let (client, server) = pair(&options, &options);
    let short = Duration::from_millis(20);
    assert_eq!(engine.wait_idle(short), Err(CloseError::TimedOut));
    for _ in 0..500 {
        client.send(&[7; 1000]).unwrap();
    }
    // A program could end after the last call: everything has arrived.
    drop(client);
    assert_eq!(engine.wait_idle(PATIENCE), Ok(()));
    assert_eq!(server.stats().unwrap().received.delivered, 500);
}

#[cfg(unix)]
const FEW_FILES: &str = "DCCP_SOCKETS_FEW_FILES";

/// Goal: closed connections, which rest in TIMEWAIT, never keep a program from opening new ones. Method: 400 connections
/// one after the other in a process that may open 64 files. Then all descriptors are taken but those of resting ports.
#[cfg(unix)]
#[test]
fn resting_ports_release_their_descriptors_under_pressure() {
    if std::env::var_os(FEW_FILES).is_none() {
        let mut limited = std::process::Command::new("sh");
        limited.args(["-ec", "ulimit -n 64; exec \"$0\" \"$@\""]);
        let name = "engine::resting_ports_release_their_descriptors_under_pressure";
        dccp_dev::rerun::run(&mut limited, name, FEW_FILES);
        return;
    }
    let options = options();
    let (listener, address) = listen(&options);
    let open_and_close = || {
        let client = Socket::connect((address, PORT), &options).unwrap();
        let server = listener.accept().unwrap();
        assert_eq!(client.close(), Ok(CloseReason::Local));
        drop(server);
    };
    for _ in 0..400 {
        open_and_close();
    }
    let null = || std::fs::File::open("/dev/null");
    let files: Vec<_> = core::iter::from_fn(|| null().ok()).collect();
    assert!(files.len() > 20, "{} of 64 were left", files.len());
    for _ in 0..8 {
        open_and_close();
    }
}
