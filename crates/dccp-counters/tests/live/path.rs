//! Two hosts in this process, each with an engine, and a relay between them that loses packets.

use core::time::Duration;
use dccp::{DccpAddr, Engine, EngineOptions, Listener, Options, Socket};
use dccp_counters::{ConnectionCounters, ListenerCounters, Snapshot, Totals};
use dccp_emu::clock;
use dccp_emu::relay::Relay;
use dccp_emu::report::Report;
use dccp_sim::loss::FaultConfig;
use dccp_sim::{LinkConfig, Seed};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

/// A relay that runs until it is ended.
pub(crate) struct Lossy {
    pub(crate) address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

impl Lossy {
    /// A path to `server` that loses one packet in `one_in`, in each direction.
    pub(crate) fn start(server: SocketAddr, one_in: u32) -> Self {
        let faults = FaultConfig {
            loss: 1.0 / f64::from(one_in),
            ..FaultConfig::default()
        };
        let link = LinkConfig {
            delay: Duration::from_millis(2),
            faults,
            ..LinkConfig::default()
        };
        let is_over = Arc::new(AtomicBool::new(false));
        let is_to_end = is_over.clone();
        let (started, address) = mpsc::channel();
        let thread = thread::spawn(move || {
            let links = [link.clone(), link];
            let any = "127.0.0.1:0".parse().unwrap();
            let mut relay = Relay::new(any, server, links, Seed(8), Duration::ZERO).unwrap();
            started.send(relay.local_addr()).unwrap();
            while !is_to_end.load(Ordering::Relaxed) {
                relay
                    .run_until(clock::now() + Duration::from_millis(20))
                    .unwrap();
            }
            relay.report()
        });
        Self {
            address: address.recv().unwrap(),
            is_over,
            thread,
        }
    }

    /// Ends the relay after the packets inside it have left.
    pub(crate) fn end(self) -> Report {
        thread::sleep(Duration::from_millis(200));
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// A host: an engine and the connections of its applications.
pub(crate) struct Host {
    engine: Engine,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    ended: Totals,
    connections: Vec<(u32, Arc<Socket>)>,
    listeners: Vec<Arc<Listener>>,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self {
            engine: Engine::start(&EngineOptions::new()).unwrap(),
            inside: Mutex::default(),
        }
    }

    pub(crate) fn listen(&self, options: Options) -> Arc<Listener> {
        let options = options.engine(&self.engine);
        let listener = Arc::new(Listener::bind("127.0.0.1:0/0", &options).unwrap());
        self.inside.lock().unwrap().listeners.push(listener.clone());
        listener
    }

    pub(crate) fn connect(&self, to: DccpAddr, options: Options) -> Arc<Socket> {
        let options = options.engine(&self.engine);
        self.adopt(Socket::connect(to, &options).unwrap())
    }

    /// Tries to open a connection that the peer refuses.
    pub(crate) fn assert_refused(&self, to: DccpAddr, options: Options) {
        Socket::connect(to, &options.engine(&self.engine)).expect_err("no listener");
    }

    /// Lists a connection among those of the host.
    pub(crate) fn adopt(&self, socket: Socket) -> Arc<Socket> {
        let socket = Arc::new(socket);
        let mut inside = self.inside.lock().unwrap();
        let id = u32::try_from(inside.connections.len() + 1).unwrap();
        inside.connections.push((id, socket.clone()));
        socket
    }

    /// Moves the connections to those that have ended.
    pub(crate) fn forget_connections(&self) {
        let mut inside = self.inside.lock().unwrap();
        for (id, socket) in core::mem::take(&mut inside.connections) {
            inside.ended.ended(&read(id, &socket));
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let inside = self.inside.lock().unwrap();
        let connections = inside.connections.iter();
        let connections = connections.map(|(id, socket)| read(*id, socket)).collect();
        let listeners = inside.listeners.iter();
        let listeners = listeners
            .map(|l| ListenerCounters::new(0, &[], l))
            .collect();
        let engines = [self.engine.stats().unwrap()];
        let uptime = Duration::from_secs(1);
        Snapshot::new(uptime, &inside.ended, &engines, connections, listeners)
    }
}

fn read(id: u32, socket: &Socket) -> ConnectionCounters {
    let (stats, snapshot) = (socket.stats().unwrap(), socket.snapshot().unwrap());
    ConnectionCounters::new(id, 1000, Duration::from_secs(1), &stats, &snapshot)
}

/// Two hosts with a connection over the path.
pub(crate) struct Talk {
    pub(crate) hosts: [Arc<Host>; 2],
    pub(crate) client: Arc<Socket>,
    pub(crate) server: Arc<Socket>,
    pub(crate) path: Lossy,
}

impl Talk {
    pub(crate) fn start(one_in: u32) -> Self {
        let hosts = [Host::new(), Host::new()].map(Arc::new);
        let listener = hosts[1].listen(Options::new().recv_buffer(32));
        let local = listener.local_addrs()[0];
        let path = Lossy::start(local.udp_addr(), one_in);
        let to = DccpAddr::from((path.address, local.dccp_port));
        let client = hosts[0].connect(to, Options::new());
        let server = listener.accept_timeout(Duration::from_secs(30)).unwrap();
        let server = hosts[1].adopt(server);
        Self {
            hosts,
            client,
            server,
            path,
        }
    }

    /// Sends datagrams, and returns when each has its fate. The server reads them, apart from some that its full buffer
    /// drops.
    pub(crate) fn load(&self, datagrams: u32) {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| self.read_until(&is_over));
            for _ in 0..datagrams {
                self.client.send(&[7; LEN]).unwrap();
            }
            let has_fates = self.wait_for_fates();
            // The buffer is empty before the reader ends.
            thread::sleep(Duration::from_millis(100));
            is_over.store(true, Ordering::Relaxed);
            assert!(
                has_fates,
                "{:?} {:?}",
                self.client.stats(),
                self.client.snapshot()
            );
        });
    }

    fn read_until(&self, is_over: &AtomicBool) {
        let mut buf = [0; 2000];
        self.server
            .set_recv_timeout(Some(Duration::from_millis(20)));
        while !is_over.load(Ordering::Relaxed) {
            let was_read = self.server.recv(&mut buf).is_ok();
            if was_read && self.server.stats().unwrap().received.taken == 100 {
                // The buffer overflows.
                thread::sleep(Duration::from_millis(250));
            }
        }
    }

    /// Whether no datagram of the client waits or is in flight, at the latest after many retransmission timeouts.
    fn wait_for_fates(&self) -> bool {
        let is_done = || {
            let sent = self.client.stats().unwrap().sent;
            sent.queued + sent.in_flight == 0
        };
        (0..3000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            is_done()
        })
    }
}

/// Bytes of each datagram.
pub(crate) const LEN: usize = 500;
