//! Two programs with DCCP inside on one host (docs/design.md, decision 11b).

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dccp_io::{Host, Options, Transport};
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::Ecn;

use crate::support::{batch, is_inside, raw, receive};

const NAME: &str = "sharing::second_program_stays_silent_and_both_get_their_packets";
const SECOND: &str = "DCCP_IO_SECOND";
const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PATH: Path = Path {
    local: IP,
    remote: IP,
    encap: Encap::Ip,
};

fn ports(transport: &mut dyn Transport, n: usize) -> Vec<u16> {
    receive(transport, n, |_, bytes| {
        u16::from_be_bytes([bytes[2], bytes[3]])
    })
}

/// The second program: says what it is, and then at each line of input what it has received.
fn second() {
    let host = Host::join().unwrap();
    let _port = host.claim(2000).unwrap();
    let mut socket = raw(IP, &host, &Options::default());
    let can_have_1000 = host.claim(1000).is_ok();
    println!("second: owner {} 1000 {can_have_1000}", host.is_owner());
    for line in std::io::stdin().lines() {
        let n = line.unwrap().parse().unwrap();
        let got = ports(socket.as_mut(), n);
        let foreign = socket.counters().foreign;
        println!(
            "second: got {got:?} foreign {foreign} owner {}",
            host.is_owner()
        );
    }
}

struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    fn start() -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture"])
            .env(SECOND, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn says(&mut self) -> String {
        let mut lines = (&mut self.stdout).lines().map(Result::unwrap);
        let line = lines.find_map(|l| l.split_once("second: ").map(|(_, said)| said.to_owned()));
        line.expect("the second program goes on")
    }

    fn receives(&mut self, n: usize) -> String {
        writeln!(self.stdin, "{n}").unwrap();
        self.says()
    }
}

#[test]
fn second_program_stays_silent_and_both_get_their_packets() {
    if env::var_os(SECOND).is_some() {
        return second();
    }
    if !is_inside(NAME, "") {
        return;
    }
    let host = Host::join().unwrap();
    assert!(host.is_owner());
    let port = host.claim(1000).unwrap();
    let mut socket = raw(IP, &host, &Options::default());
    let mut program = Program::start();
    assert_eq!(program.says(), "owner false 1000 false");

    // No program has claimed 3000, so the first program answers for it, because it has the lock.
    for port in [1000, 2000, 3000, 1000, 2000] {
        let batch = batch(&PATH, Ecn::Ect0, port, &[20]);
        assert!(socket.send(&batch, 0).is_done(&batch));
    }
    assert_eq!(ports(socket.as_mut(), 3), [1000, 3000, 1000]);
    assert_eq!(socket.counters().foreign, 2);
    let said = program.receives(2);
    assert_eq!(said, "got [2000, 2000] foreign 3 owner false");

    // When the first has gone, the second answers after a few packets at the latest.
    let sender_host = Host::join().unwrap();
    drop((port, socket));
    drop(host);
    let mut sender = raw(IP, &sender_host, &Options::default());
    let stray = batch(&PATH, Ecn::Ect0, 3000, &[20; 16]);
    assert!(sender.send(&stray, 0).is_done(&stray));
    assert_eq!(
        program.receives(3),
        "got [3000, 3000, 3000] foreign 16 owner true"
    );

    let Program {
        mut child, stdin, ..
    } = program;
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
