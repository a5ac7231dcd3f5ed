//! The hosts of a run with their flows, in real time.

use super::LiveError;
use super::dccp::{self, DccpSender, Ends, Receiving};
use super::end::{LOOK, Received, Receivers, Sender};
use super::load::Load;
use super::network::{Network, address};
use super::tcp::{self, TcpSender};
use super::udp::{self, UdpSender};
use super::{in_namespace, refuse};
use crate::run::outcome::{Datagram, RoundTrip, Totals};
use crate::run::stage::{Stage, State, add_known};
use crate::scenario::plan::{Flow, Machine, Run, Transport};
use ::dccp::{Engine, EngineOptions};
use core::net::SocketAddr;
use core::sync::atomic::Ordering;
use core::time::Duration;
use dccp_emu::clock;
use dccp_proto::Instant;
use dccp_sim::link::LinkStats;
use dccp_sim::machine::HostLosses;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The first port that flows listen on: each has its own.
const PORT: u16 = 5001;
/// A run whose recorder was this late reports it.
const LATE: Duration = Duration::from_millis(20);

/// The network of a run and its flows.
pub(super) struct Testbed {
    flows: Vec<Running>,
    threads: Vec<JoinHandle<()>>,
    /// By node; routers have none.
    engines: Vec<Option<Engine>>,
    network: Network,
    links: Vec<crate::scenario::plan::Link>,
    begin: Instant,
    load: Load,
    /// How late the recorder was at most.
    lateness: Duration,
}

/// A flow with the streams that have begun.
struct Running {
    receivers: Arc<Receivers>,
    streams: Vec<Stream>,
}

struct Stream {
    sender: Box<dyn Sender>,
    received: Option<Arc<Received>>,
    is_stopped: bool,
}

impl Testbed {
    /// Builds the network of a run; all receivers wait for their senders.
    pub(super) fn new(run: &Run) -> Result<Self, LiveError> {
        let network = Network::new(run)?;
        let mut testbed = Self {
            flows: Vec::new(),
            threads: Vec::new(),
            engines: Vec::new(),
            network,
            links: run.network.links.clone(),
            begin: clock::now(),
            load: Load::now(),
            lateness: Duration::ZERO,
        };
        let has_dccp = |node: usize| {
            let flows = run.flows.iter();
            let mut dccp = flows.filter(|flow| matches!(flow.transport, Transport::Dccp(_)));
            dccp.any(|flow| [flow.from, flow.to].contains(&node))
        };
        for node in 0..run.network.nodes.len() {
            let engine = || Engine::start(&EngineOptions::new().name("lab-dccp"));
            let namespace = &testbed.network.namespaces[node];
            let engine = has_dccp(node).then(|| in_namespace(namespace, engine));
            let engine = engine.transpose()?.transpose()?;
            testbed.engines.push(engine);
        }
        for (number, flow) in run.flows.iter().enumerate() {
            testbed.listen(number, flow)?;
        }
        Ok(testbed)
    }

    fn engine(&self, node: usize) -> &Engine {
        let engine = self.engines[node].as_ref();
        engine.expect("the ends of DCCP flows have engines")
    }

    /// Opens the receiving end of a flow.
    fn listen(&mut self, number: usize, flow: &Flow) -> Result<(), LiveError> {
        let receivers = Arc::new(Receivers::default());
        let (address, port) = (address(flow.to), port(number));
        let namespace = &self.network.namespaces[flow.to];
        let (app, shared) = (flow.receiver.clone(), receivers.clone());
        let thread = match &flow.transport {
            Transport::Dccp(config) => {
                let (engine, config) = (self.engine(flow.to).clone(), config.clone());
                let reader = app.clone();
                let open = move || dccp::listen(&engine, address, port, &config, &reader);
                let listener = in_namespace(namespace, open)??;
                let receiving = Arc::new(Receiving {
                    app,
                    receivers: shared,
                });
                thread::spawn(move || dccp::accept(&listener, &receiving))
            }
            Transport::Tcp(config) => {
                let (config, mss) = (config.clone(), config.mss);
                let open = move || tcp::listen(address, port, &config);
                let listener = in_namespace(namespace, open)??;
                thread::spawn(move || tcp::accept(&listener, mss, &shared))
            }
            Transport::Udp => {
                let socket = in_namespace(namespace, move || udp::bind(address, port))??;
                thread::spawn(move || udp::receive(&socket, &app, &shared))
            }
        };
        self.threads.push(thread);
        self.flows.push(Running {
            receivers,
            streams: Vec::new(),
        });
        Ok(())
    }

    /// Begins the run's time.
    pub(super) fn begin(&mut self) {
        self.network.begin();
        self.load = Load::now();
        self.begin = clock::now();
    }

    /// Waits until a time of the run. `progress` gets the time that has passed and returns whether to go on.
    pub(super) fn wait_until(
        &mut self,
        at: Duration,
        progress: &mut impl FnMut(Duration) -> bool,
    ) -> bool {
        loop {
            let now = clock::now() - self.begin;
            let left = at.saturating_sub(now);
            if left.is_zero() {
                self.lateness = self.lateness.max(now.saturating_sub(at));
                return progress(at);
            }
            if !progress(now) {
                return false;
            }
            thread::sleep(left.min(LOOK));
        }
    }

    /// The limits of the run other than the network, with evidence.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.network.complaints(&self.links);
        if self.lateness > LATE {
            let ms = self.lateness.as_millis();
            warnings.push(format!("the recorder was up to {ms} ms late"));
        }
        let streams = self.flows.iter().flat_map(|flow| &flow.streams);
        let counts = streams.map(|stream| stream.sender.lateness());
        let (sent, late) = counts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
        if late * 100 > sent {
            let text = format!("{late} of {sent} timed datagrams were more than 1 ms late");
            warnings.push(text);
        }
        warnings.extend(self.load.complaint(&Load::now()));
        warnings
    }

    /// Begins a stream.
    fn open(&mut self, number: usize, flow: &Flow) -> Result<Box<dyn Sender>, LiveError> {
        let mut app = flow.sender.clone();
        if let Ok(n @ 1..) = u64::try_from(self.flows[number].streams.len()) {
            // Streams under one name do not move in step.
            app.random = app.random.fork(n);
        }
        let (local, remote) = (address(flow.from), address(flow.to));
        let to = SocketAddr::from((remote, port(number)));
        let namespace = &self.network.namespaces[flow.from];
        match &flow.transport {
            Transport::Dccp(config) => {
                let ends = Ends {
                    local,
                    remote,
                    port: port(number),
                };
                let engine = self.engine(flow.from);
                let (sender, thread) = DccpSender::start(engine, &ends, config, app, self.begin);
                self.threads.push(thread);
                Ok(Box::new(sender))
            }
            Transport::Tcp(config) => {
                let law = refuse::kernel_law(flow)?;
                let config = config.clone();
                let open = move || tcp::open(local, law, &config);
                let socket = in_namespace(namespace, open)??;
                let (sender, thread) = TcpSender::start(socket, to, app)?;
                self.threads.push(thread);
                Ok(Box::new(sender))
            }
            Transport::Udp => {
                let socket = in_namespace(namespace, move || udp::bind(local, 0))??;
                let (sender, threads) = UdpSender::start(socket, to, &app)?;
                self.threads.extend(threads);
                Ok(Box::new(sender))
            }
        }
    }
}

impl Stage for Testbed {
    fn start(&mut self, number: usize, flow: &Flow) {
        let sender = self
            .open(number, flow)
            .unwrap_or_else(|error| Box::new(NotOpened(error.what)));
        self.flows[number].streams.push(Stream {
            sender,
            received: None,
            is_stopped: false,
        });
    }

    fn stop(&mut self, number: usize, _: &Flow) {
        for stream in &mut self.flows[number].streams {
            stream.is_stopped = true;
            stream.sender.stop();
        }
    }

    fn meet(&mut self) {
        for flow in &mut self.flows {
            for stream in flow.streams.iter_mut().filter(|s| s.received.is_none()) {
                stream.received = stream.sender.port().map(|port| flow.receivers.of(port));
            }
        }
    }

    fn goodput_of_streams(&self, number: usize, _: &Flow) -> Vec<u64> {
        let of_stream = |stream: &Stream| {
            let received = stream.received.as_ref().map_or(0, |r| r.bytes());
            received + stream.sender.answered_bytes()
        };
        self.flows[number].streams.iter().map(of_stream).collect()
    }

    fn totals(&self, number: usize, flow: &Flow) -> Totals {
        let is_tcp = matches!(flow.transport, Transport::Tcp(_));
        let mut totals = Totals {
            lost_packets: Some(0),
            marked_packets: (!is_tcp).then_some(0),
            loss_events: Some(0),
            ..Totals::default()
        };
        for stream in &self.flows[number].streams {
            let sent = stream.sender.sample();
            totals.sent_packets += sent.sent;
            totals.retransmitted_packets += sent.retransmitted;
            totals.dropped_by_sender_packets += sent.dropped_by_sender;
            totals.dropped_by_receiver_packets += sent.dropped_by_receiver;
            totals.answered_bytes += stream.sender.answered_bytes();
            add_known(&mut totals.loss_events, sent.loss_events);
            let load = |of: fn(&Received) -> u64| stream.received.as_ref().map(|r| of(r));
            let missing = load(|r| r.missing.load(Ordering::Relaxed));
            let marked = load(|r| r.marked.load(Ordering::Relaxed));
            add_known(&mut totals.lost_packets, sent.lost.or(missing));
            add_known(&mut totals.marked_packets, sent.marked.or(marked));
            totals.delivered_packets += load(|r| r.packets.load(Ordering::Relaxed)).unwrap_or(0);
            totals.delivered_bytes += load(Received::bytes).unwrap_or(0);
        }
        totals
    }

    fn state(&self, number: usize, _: &Flow) -> State {
        let mut state = State::default();
        let sum = |sum: &mut Option<f64>, value: Option<f64>| {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0.0) + value);
            }
        };
        let streams = self.flows[number].streams.iter();
        for stream in streams.filter(|stream| !stream.is_stopped) {
            let of_stream = stream.sender.sample().state;
            sum(&mut state.cwnd_packets, of_stream.cwnd_packets);
            sum(&mut state.ssthresh_packets, of_stream.ssthresh_packets);
            sum(&mut state.rate_bps, of_stream.rate_bps);
            state.rtt = state.rtt.or(of_stream.rtt);
        }
        state
    }

    fn round_trips(&mut self, number: usize, _: &Flow) -> Vec<RoundTrip> {
        let now = clock::now() - self.begin;
        let streams = self.flows[number].streams.iter_mut();
        let running = streams.filter(|stream| !stream.is_stopped);
        running
            .flat_map(|stream| stream.sender.round_trips(now))
            .collect()
    }

    fn stamps(&self, number: usize, _: &Flow) -> Vec<RoundTrip> {
        let streams = self.flows[number].streams.iter();
        streams.flat_map(|stream| stream.sender.pings()).collect()
    }

    fn datagrams(&self, _: usize, _: &Flow) -> Vec<Vec<Datagram>> {
        // `refuse` lets no flow through that records them.
        Vec::new()
    }

    fn broken(&self, number: usize, _: &Flow) -> Option<String> {
        let running = self.flows[number].streams.iter().filter(|s| !s.is_stopped);
        running
            .into_iter()
            .find_map(|stream| stream.sender.sample().broken)
    }

    fn queue_packets(&mut self, direction: usize) -> u64 {
        let now = Instant::ZERO + (clock::now() - self.begin);
        self.network
            .wire_mut(direction / 2)
            .queue_packets(direction % 2, now)
    }

    fn link(&self, direction: usize) -> LinkStats {
        let now = Instant::ZERO + (clock::now() - self.begin);
        self.network.wire(direction / 2).stats(direction % 2, now)
    }

    fn processor(&self, _: &Machine) -> Option<Duration> {
        // All hosts share the processor of this machine.
        None
    }

    fn host_losses(&self, _: &Machine) -> Option<HostLosses> {
        None
    }

    fn events(&self) -> Option<u64> {
        None
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for flow in &mut self.flows {
            flow.receivers.end();
            for stream in &mut flow.streams {
                stream.sender.stop();
            }
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// A stream that could not be opened, and why.
struct NotOpened(String);

impl Sender for NotOpened {
    fn port(&self) -> Option<u16> {
        None
    }

    fn sample(&self) -> super::end::Sample {
        super::end::Sample {
            broken: Some(self.0.clone()),
            ..super::end::Sample::default()
        }
    }

    fn round_trips(&mut self, _: Duration) -> Vec<RoundTrip> {
        Vec::new()
    }

    fn lateness(&self) -> (u64, u64) {
        (0, 0)
    }

    fn stop(&mut self) {}
}

/// The port that a flow's receiver listens on.
fn port(flow: usize) -> u16 {
    PORT + u16::try_from(flow).expect("a plan has fewer flows than there are ports")
}
