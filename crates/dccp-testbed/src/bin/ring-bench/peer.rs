//! The other ends, in processes of their own.

use crate::{Outcome, PORT};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::{Engine, EngineOptions, Listener, Options, RecvBatch};
use dccp_ring_ipc::{RingCaller, RingLimits, RingRequest, RingServer};
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// How the other ends run.
pub(crate) struct Peers {
    pub(crate) cpu: Option<usize>,
    pub(crate) is_busy: bool,
}

impl Peers {
    /// An engine of one's own, and the options that use it.
    pub(crate) fn options(&self) -> Outcome<Options> {
        let mut engine = EngineOptions::new();
        let mut options = Options::new().recv_buffer(1 << 14);
        if self.is_busy {
            // There is always a deadline within the time that it does not sleep through.
            engine = engine.busy_wait(Duration::from_secs(2));
            options = options.keepalive(Duration::from_secs(1));
        }
        Ok(options.engine(&Engine::start(&engine)?))
    }

    /// Starts this program for another end; gives the line that it says first.
    pub(crate) fn start(&self, words: &[&str]) -> Outcome<(Peer, String)> {
        let mut words = words.to_vec();
        if self.is_busy {
            words.insert(0, "--busy-wait");
        }
        self.start_program(&std::env::current_exe()?, &words)
    }

    /// Starts the service of a host, which lends rings at `path` and has any UDP port.
    pub(crate) fn start_daemon(&self, path: &Path) -> Outcome<Peer> {
        let udp_port = UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port();
        let busy_wait = if self.is_busy { "2s" } else { "0s" };
        let admin = path.with_extension("admin");
        let policy = path.with_extension("toml");
        let text = format!(
            "socket = \"{}\"\nadmin-socket = \"{}\"\nudp-port = {udp_port}\nbusy-wait = \"{busy_wait}\"\n\
             [[rule]]\nusers = [\"*\"]\nconnect = [\"*\"]\nlisten = [\"*\"]\n\
             max-ring-memory = \"64M\"\n",
            path.display(),
            admin.display()
        );
        std::fs::write(&policy, text)?;
        let program = std::env::current_exe()?.with_file_name("dccpd");
        let words = ["--policy", policy.to_str().ok_or("no path")?];
        Ok(self.start_program(&program, &words)?.0)
    }

    fn start_program(&self, program: &Path, words: &[&str]) -> Outcome<(Peer, String)> {
        let mut command = match self.cpu {
            Some(cpu) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &cpu.to_string()]).arg(program);
                command
            }
            None => Command::new(program),
        };
        let mut child = command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut peer = Peer {
            child,
            output: BufReader::new(output),
        };
        let first = peer.line()?;
        Ok((peer, first))
    }
}

/// A process of another end; it is ended with this.
pub(crate) struct Peer {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Peer {
    /// The next line that it says.
    pub(crate) fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Listens, says where, receives until the connection ends, and says how many datagrams came.
pub(crate) fn sink(peers: &Peers) -> Outcome {
    let listener = Listener::bind(("127.0.0.1:0", PORT), &peers.options()?)?;
    println!("{}", listener.local_addrs()[0].udp_addr());
    let socket = listener.accept()?;
    let mut batch = RecvBatch::new(1024);
    let mut delivered = 0;
    while let Ok(n) = socket.recv_batch(&mut batch) {
        delivered += n;
    }
    println!("{delivered}");
    Ok(())
}

/// The same for UDP; a datagram that is not empty is the end.
pub(crate) fn sink_udp() -> Outcome {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    println!("{}", socket.local_addr()?);
    let mut delivered = 0;
    while socket.recv(&mut [0; 1])? == 0 {
        delivered += 1;
    }
    println!("{delivered}");
    Ok(())
}

/// Lends rings, and listens for their connections, until its standard input ends.
pub(crate) fn lend(peers: &Peers, path: &Path) -> Outcome {
    let options = peers.options()?;
    let listener = Listener::bind(("127.0.0.1:0", PORT), &options)?;
    let policy = move |_: &RingCaller, _: &RingRequest| Ok(options.clone());
    let _server = RingServer::bind(path, RingLimits::default(), policy)?;
    println!("{}", listener.local_addrs()[0].udp_addr());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// An address that a peer has said.
pub(crate) fn address(line: &str) -> Outcome<SocketAddr> {
    line.parse().map_err(|_| "the peer said no address".into())
}
