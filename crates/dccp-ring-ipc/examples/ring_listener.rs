//! Accepts connections for another process: this program again, which serves them through rings, without an engine of its
//! own. (Linux)

use dccp::packet_ring::{Label, Shape};
use dccp::{Options, Socket};
use dccp_ring_ipc::{
    RingCaller, RingLimits, RingListenRequest, RingListener, RingPolicy, RingRequest, RingServer,
};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The variable with the path of the server.
const PATH: &str = "RING_LISTENER";
const PORT: u16 = 5001;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    match std::env::var(PATH) {
        Ok(path) => application(&path),
        Err(_) => server(),
    }
}

/// The policy: no application may listen by default.
struct Policy;

impl RingPolicy for Policy {
    fn allow(&mut self, _: &RingCaller, _: &RingRequest) -> Result<Options, String> {
        Err("this server only listens".into())
    }

    fn allow_listening(
        &mut self,
        caller: &RingCaller,
        request: &RingListenRequest,
    ) -> Result<Options, String> {
        println!("process {} listens at {}", caller.pid, request.local);
        if request.local.dccp_port == PORT && request.connections <= 2 {
            Ok(Options::new().backlog(8))
        } else {
            Err("two connections to port 5001".into())
        }
    }
}

/// The process with the engine. (Here it is the peer, too.)
fn server() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("ring-listener-{}", std::process::id()));
    let _server = RingServer::bind(&path, RingLimits::default(), Policy)?;
    let mut application = Command::new(std::env::current_exe()?)
        // When a test calls `main`, the arguments select that test in the child and show its output.
        .args(["accepted", "--nocapture"])
        .env(PATH, &path)
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = application.stdout.take().ok_or("it says nothing")?;
    let mut lines = BufReader::new(lines).lines();
    let place = lines.find_map(|line| Some(line.ok()?.split_once("listens: ")?.1.to_owned()));
    let place = place.ok_or("it does not listen")?;

    for name in ["Ann", "Bob"] {
        let socket = Socket::connect(&*place, &Options::new())?;
        socket.send(name.as_bytes())?;
        let mut buf = [0; 100];
        let len = socket.recv(&mut buf)?;
        assert_eq!(&buf[..len], format!("hello {name}").as_bytes());
    }
    assert!(application.wait()?.success());
    Ok(())
}

/// The process without an engine.
fn application(path: &str) -> Result<(), Box<dyn Error>> {
    let local = "127.0.0.1:0/5001".parse()?;
    let request = RingListenRequest::new(local, Shape::new(16, 100)).connections(2);
    let mut listener = RingListener::bind(path, &request)?;
    println!("listens: {}", listener.local_addr());
    for _ in 0..2 {
        let mut ring = listener.accept()?;
        let mut buf = [0; 100];
        let len = ring.recv(&mut buf)?;
        let answer = [b"hello ", &buf[..len]].concat();
        ring.sender().push(&answer, Label::default())?;
        ring.close(Duration::from_secs(10))?;
    }
    Ok(())
}
