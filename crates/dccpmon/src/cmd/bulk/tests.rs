//! False servers: their messages neither end the client nor change its own counts.

use super::*;
use crate::cli::{Command, DCCP_PORT, parse};
use crate::plan::{SERVICE, data_options};
use crate::result::check::Checks;
use crate::schema::{ServerLimits, Status as DocumentStatus};
use crate::wire::auth::Nonce;
use crate::wire::figures::{RxInterval, RxTotal, TxInterval, TxTotal};
use crate::wire::hello::{PROGRAM, PROTOCOL, Welcome};
use crate::wire::message::{Ready, RefusalCode, Refused};
use core::net::SocketAddr;
use dccp::{Listener, Options};
use std::thread::{self, JoinHandle};

const TOKEN: u64 = 7;
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that grants a test of one flow and sends these messages in place of its figures.
fn serve(messages: Vec<Message>) -> (u16, JoinHandle<()>) {
    let options = data_options(Options::new().service_code(SERVICE));
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind((local, DCCP_PORT), &options).unwrap();
    let port = listener.local_addrs()[0].udp_addr().port();
    let thread = thread::spawn(move || {
        let control = listener.accept_timeout(PATIENCE).unwrap();
        let mut channel = Channel::new(control, None).unwrap();
        let _data = agree(&mut channel, &listener);
        // The client has sent some packets by then.
        thread::sleep(Duration::from_millis(200));
        for message in messages {
            channel.say(&message).unwrap();
        }
        // Until the client is gone.
        while channel.poll(clock::now() + PATIENCE).is_ok() {}
    });
    (port, thread)
}

/// The next message of the client.
fn next(channel: &mut Channel) -> Message {
    let message = channel.poll(clock::now() + PATIENCE).unwrap();
    message.expect("a message of the client")
}

/// Grants the client's request. Returns the connection of its flow after the start.
fn agree(channel: &mut Channel, listener: &Listener) -> Socket {
    assert!(matches!(next(channel), Message::Hello(_)));
    let welcome = Message::Welcome(Box::new(Welcome {
        protocol: PROTOCOL.max,
        program: PROGRAM.into(),
        nonce: Nonce::random().unwrap(),
        needs_key: false,
        limits: ServerLimits {
            tests: 1,
            flows: 1,
            rate_bps: None,
            duration_ns: u64::MAX,
            packet_bytes_max: 1400,
            interval_ns_min: 1,
        },
    }));
    channel.say(&welcome).unwrap();
    let Message::Setup(setup) = next(channel) else {
        panic!("no request");
    };
    let ready = Message::Ready(Ready {
        token: TOKEN,
        granted: setup.body,
        proof: None,
    });
    channel.say(&ready).unwrap();
    channel.flush(clock::now() + PATIENCE).unwrap();
    let data = listener.accept_timeout(PATIENCE).unwrap();
    channel.say(&Message::Joined { flow: 0 }).unwrap();
    assert_eq!(next(channel), Message::Start);
    data
}

/// A server that answers the first message of a client with this refusal.
fn refuse(refused: Refused) -> (u16, JoinHandle<()>) {
    let options = Options::new().service_code(SERVICE);
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind((local, DCCP_PORT), &options).unwrap();
    let port = listener.local_addrs()[0].udp_addr().port();
    let thread = thread::spawn(move || {
        let control = listener.accept_timeout(PATIENCE).unwrap();
        let mut channel = Channel::new(control, None).unwrap();
        assert!(matches!(next(&mut channel), Message::Hello(_)));
        channel.say(&Message::Refused(refused)).unwrap();
        channel.flush(clock::now() + PATIENCE).unwrap();
    });
    (port, thread)
}

/// A test that runs for half a second at 1 Mbit/s.
fn asked(port: u16) -> Bulk {
    let line = format!("127.0.0.1 -p {port} -t 0.5 -i 0.1 -b 1M -l 100 -q");
    let Ok(Command::Bulk(asked)) = parse(line.split_whitespace().map(Into::into)) else {
        panic!("{line}");
    };
    *asked
}

/// The client's document of half a second.
fn measured(messages: Vec<Message>) -> Document {
    let (port, server) = serve(messages);
    let asked = asked(port);
    let mut outputs = Outputs::new(
        &asked.output,
        Checks::default(),
        &document::of_begin(&asked).requested,
    )
    .unwrap();
    let plan = Plan::new(asked.clone()).unwrap();
    let document = measure(plan, &mut outputs).unwrap();
    server.join().unwrap();
    document
}

fn interval(tx: Option<TxInterval>, rx: Option<RxInterval>) -> Interval {
    Interval {
        flow: 0,
        index: 0,
        t0_ns: 0,
        t1_ns: 1,
        tx,
        rx,
    }
}

#[test]
fn nonsense_leaves_the_clients_half_and_code_5() {
    let good = || interval(None, Some(RxInterval::default()));
    let huge = RxInterval {
        lost_packets: u64::MAX,
        packets: u64::MAX,
        ..RxInterval::default()
    };
    let backwards = Interval {
        t0_ns: 1,
        t1_ns: 0,
        ..good()
    };
    let no_such_flow = Interval {
        flow: u32::MAX,
        ..good()
    };
    let no_such_interval = Interval {
        index: u32::MAX,
        ..good()
    };
    let of_the_client = interval(Some(TxInterval::default()), None);
    for wrong in [
        interval(None, Some(huge)),
        backwards,
        no_such_flow,
        no_such_interval,
        of_the_client,
    ] {
        let text = format!("{wrong:?}");
        let document = measured(vec![Message::Interval(Box::new(wrong))]);
        assert_eq!(document.status, DocumentStatus::Incomplete, "{text}");
        assert_eq!(document.exit_code, exit::INCOMPLETE, "{text}");
        let summary = document.summary.unwrap();
        let [flow] = summary.flows.as_slice() else {
            panic!("{text}: {} flows", summary.flows.len());
        };
        let ledger = flow.ledger.unwrap();
        assert!(
            ledger.is_closed() && ledger.offered > 0,
            "{text}: {ledger:?}"
        );
        let error = document.error.expect("the reason");
        assert_eq!(error.what, Lost::Nonsense.to_string(), "{text}");
    }
}

#[test]
fn server_cannot_replace_what_the_client_sent() {
    let total = FlowTotal {
        flow: 0,
        tx: Some(TxTotal {
            offered: 1,
            left: 1,
            ..TxTotal::default()
        }),
        rx: Some(RxTotal {
            delivered: 1,
            passed: 1,
            ..RxTotal::default()
        }),
    };
    let document = measured(vec![Message::Total(Box::new(total))]);
    assert_eq!(document.exit_code, exit::INCOMPLETE);
    let ledger = document.summary.unwrap().flows[0].ledger.unwrap();
    assert_ne!(ledger.offered, 1, "{ledger:?}");
}

// goal 49: an old server yields a cause and a next step.
// goal 58: the client shows the refusal of a server that speaks other versions.
#[test]
fn old_server_yields_two_lines_and_code_4() {
    let (port, server) = refuse(Refused::new(
        RefusalCode::Version,
        "the server speaks version 1 of the protocol, this program version 2",
        "install the same version at both ends",
    ));
    let failure = quietly(asked(port)).unwrap_err();
    server.join().unwrap();
    assert_eq!(failure.code, exit::REFUSED);
    assert_eq!(
        failure.to_string(),
        "error: the server speaks version 1 of the protocol, this program version 2\n \
         next: install the same version at both ends"
    );
}
