use super::*;
use crate::command::{Command, Listen};
use crate::engine::{Engine, EngineOptions};
use crate::group;
use crate::limits::{ICMP_PAUSE, RETRY_MAX};
use crate::{DccpAddr, ListenerEvent, Options, Socket};
use core::cell::Cell;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use dccp_io::{
    BufferSizes, Counters, LocalDrop, LocalDropReason, Received, Sent, Source, Transport, Udp,
};
use dccp_proto::wire::Ecn;
use dccp_proto::{IcmpError, IcmpKind};

const NO_MEMORY: i32 = 12;
const BAD_DESCRIPTOR: i32 = 9;
const PATIENCE: Duration = Duration::from_secs(10);

/// The faults of a socket.
#[derive(Default)]
struct Faults {
    /// Error of receive calls, 0 for none.
    recv: AtomicI32,
    /// How often it occurs.
    recv_times: AtomicU32,
    /// Batches that are refused because a queue is full.
    refusals: AtomicU32,
    /// ICMP errors that each look at the error queue finds.
    icmp: AtomicU32,
}

impl Faults {
    fn fail_recv(&self, error: i32, times: u32) {
        self.recv.store(error, Ordering::SeqCst);
        self.recv_times.store(times, Ordering::SeqCst);
    }

    fn left(&self) -> u32 {
        self.recv_times.load(Ordering::SeqCst)
    }
}

/// A real socket with faults.
struct Faulty {
    inner: Box<dyn Transport>,
    faults: Arc<Faults>,
    is_reporting: bool,
}

impl Faulty {
    fn open(place: SocketAddr) -> (Box<dyn Transport>, Arc<Faults>) {
        let faults = Arc::<Faults>::default();
        let socket_with_faults = Self {
            inner: socket(place),
            faults: faults.clone(),
            is_reporting: true,
        };
        (Box::new(socket_with_faults), faults)
    }
}

impl Transport for Faulty {
    fn send(&mut self, batch: &Batch, from: usize) -> Sent {
        let one_less = |n: u32| n.checked_sub(1);
        let refusals = &self.faults.refusals;
        let refused = refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        if refused.is_err() {
            return self.inner.send(batch, from);
        }
        let dropped = LocalDrop {
            first: from,
            datagrams: batch.len() - from,
            reason: LocalDropReason::QueueFull,
        };
        Sent {
            next: batch.len(),
            dropped: Some(dropped),
        }
    }

    fn recv(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> io::Result<bool> {
        let times = &self.faults.recv_times;
        if times
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
            .is_ok()
        {
            let error = self.faults.recv.load(Ordering::SeqCst);
            return Err(io::Error::from_raw_os_error(error));
        }
        self.inner.recv(buffer, sink)
    }

    fn recv_errors(
        &mut self,
        _: &mut RecvBuffer,
        sink: &mut dyn FnMut(IcmpError<'_>),
    ) -> io::Result<usize> {
        let entries = self.faults.icmp.load(Ordering::SeqCst);
        for _ in 0..entries {
            sink(IcmpError {
                path: path(self.local_addr()),
                quoted: &[],
                kind: IcmpKind::Unreachable { kind: 3, code: 3 },
            });
        }
        Ok(entries as usize)
    }

    fn reports_icmp(&self) -> bool {
        self.is_reporting
    }

    fn report_icmp(&mut self, on: bool) {
        self.is_reporting = on;
    }

    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }

    fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    fn segments_max(&self) -> usize {
        self.inner.segments_max()
    }

    fn buffer_sizes(&self) -> io::Result<BufferSizes> {
        self.inner.buffer_sizes()
    }

    fn reads_ecn(&self) -> bool {
        self.inner.reads_ecn()
    }

    fn source(&mut self) -> Source<'_> {
        self.inner.source()
    }
}

fn anywhere() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn socket(place: SocketAddr) -> Box<dyn Transport> {
    Box::new(Udp::bind(place, &dccp_io::Options::default()).unwrap())
}

fn path(local: SocketAddr) -> Path {
    Path {
        local: local.ip(),
        remote: local.ip(),
        encap: dccp_proto::path::Encap::Udp {
            local_port: local.port(),
            remote_port: 9,
        },
    }
}

fn batch_to(path: &Path, datagrams: usize) -> Batch {
    let mut batch = Batch::new(8);
    for _ in 0..datagrams {
        batch.push_built(path, Ecn::NotEct, false, 0, |bytes| {
            bytes.extend([7; 20]);
            true
        });
    }
    batch
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A carriage with its poller and its buffer.
struct Bench {
    carriage: Carriage,
    poller: Poller,
    buffer: RecvBuffer,
}

impl Bench {
    fn new() -> (Self, Arc<Faults>) {
        let (socket, faults) = Faulty::open(anywhere());
        let mut bench = Self {
            carriage: Carriage::new(Token(0), socket),
            poller: Poller::new(Duration::ZERO).unwrap(),
            buffer: RecvBuffer::new(),
        };
        bench.carriage.watch(&mut bench.poller).unwrap();
        (bench, faults)
    }

    fn recv(&mut self, now: Instant) -> bool {
        let Self {
            carriage,
            poller,
            buffer,
        } = self;
        carriage.recv(now, poller, buffer, &mut |_| {})
    }

    fn retry(
        &mut self,
        now: Instant,
        socket: Option<Result<Box<dyn Transport>, OpenError>>,
    ) -> bool {
        assert!(self.carriage.is_retry_due(now));
        assert_eq!(self.carriage.lacks_socket(), socket.is_some());
        self.carriage.retry(now, &mut self.poller, socket)
    }
}

/// 4340-18-10
#[test]
fn broken_socket_is_replaced_at_its_address() {
    let (mut bench, faults) = Bench::new();
    let place = bench.carriage.local_addr();
    faults.fail_recv(BAD_DESCRIPTOR, 1);
    assert!(!bench.recv(at(0)));
    let news = bench.carriage.take_news();
    assert!(
        matches!(&news, Some(News::SocketLost(e)) if e.raw_os_error() == Some(BAD_DESCRIPTOR)),
        "{news:?}"
    );
    assert_eq!(bench.carriage.deadline(), Some(at(10)));
    assert!(!bench.carriage.is_retry_due(at(9)));

    // Meanwhile nothing leaves, and nothing waits for room.
    let sent = bench.carriage.send(&batch_to(&path(place), 3), 1);
    assert_eq!(sent.next, 3);
    assert_eq!(sent.dropped.map(|d| d.datagrams), Some(2));
    assert_eq!(bench.carriage.counters().dropped_other, 2);

    assert!(bench.retry(at(10), Some(Ok(socket(place)))));
    assert_eq!(bench.carriage.local_addr(), place);
    assert!(!bench.recv(at(10)));
    let news = bench.carriage.take_news();
    assert!(matches!(news, Some(News::SocketRestored)), "{news:?}");
    let sent = bench.carriage.send(&batch_to(&path(place), 1), 0);
    assert_eq!(sent.dropped, None);
    let counters = bench.carriage.counters();
    assert_eq!((counters.sent, counters.dropped_other), (1, 2));
    assert_eq!(bench.carriage.deadline(), None);
}

#[test]
fn lack_of_memory_lets_the_socket_rest() {
    let (mut bench, faults) = Bench::new();
    faults.fail_recv(NO_MEMORY, 5);
    let mut now = at(0);
    for pause in [10, 20, 40] {
        assert!(!bench.recv(now));
        assert!(bench.carriage.take_news().is_none(), "a short pause");
        now += Duration::from_millis(pause);
        assert_eq!(bench.carriage.deadline(), Some(now));
        assert!(bench.retry(now, None));
    }
    assert!(!bench.recv(now));
    assert!(matches!(
        bench.carriage.take_news(),
        Some(News::SocketLost(_))
    ));
    now += Duration::from_millis(80);
    assert!(bench.retry(now, None));
    assert!(!bench.recv(now));
    assert!(bench.carriage.take_news().is_none(), "told once");
    now += Duration::from_millis(160);
    assert!(bench.retry(now, None));
    assert_eq!(faults.left(), 0);
    assert!(!bench.recv(now));
    assert!(matches!(
        bench.carriage.take_news(),
        Some(News::SocketRestored)
    ));
}

#[test]
fn attempts_to_open_a_socket_back_off_to_five_seconds() {
    let (mut bench, faults) = Bench::new();
    faults.fail_recv(BAD_DESCRIPTOR, 1);
    bench.recv(at(0));
    assert!(bench.carriage.take_news().is_some());
    let mut now = at(0);
    let mut pauses = Vec::new();
    for _ in 0..12 {
        let due = bench.carriage.deadline().unwrap();
        pauses.push(due - now);
        now = due;
        let taken = Err(OpenError::InUse(io::ErrorKind::AddrInUse.into()));
        assert!(!bench.retry(now, Some(taken)));
    }
    let ms = |pause: &Duration| pause.as_millis();
    assert_eq!(
        pauses.iter().map(ms).collect::<Vec<_>>(),
        [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000, 5000]
    );
    assert_eq!(pauses.last(), Some(&RETRY_MAX));
    assert!(bench.carriage.take_news().is_none(), "it is the same loss");
}

/// 4340-18-10
#[test]
fn flood_of_icmp_errors_is_read_up_to_a_budget_for_each_second() {
    let (mut bench, faults) = Bench::new();
    faults.icmp.store(64, Ordering::SeqCst);
    let count = Cell::new(0);
    let mut look = |now| {
        let Bench {
            carriage, buffer, ..
        } = &mut bench;
        let more = carriage.recv_errors(now, buffer, &mut |_| count.set(count.get() + 1));
        carriage.tend_icmp(now);
        (more, carriage.deadline())
    };
    for _ in 0..15 {
        assert_eq!(look(at(1)), (true, None));
    }
    let resumes = at(1) + ICMP_PAUSE;
    assert_eq!(look(at(1)), (false, Some(resumes)));
    assert_eq!(count.get(), 1024);
    faults.icmp.store(0, Ordering::SeqCst);
    assert_eq!(look(at(1000)), (false, Some(resumes)));
    assert_eq!(look(resumes), (false, None), "reports again");
    faults.icmp.store(64, Ordering::SeqCst);
    assert_eq!(look(resumes), (true, None));
}

#[test]
fn room_is_looked_for_by_time_where_the_poller_cannot_report_it() {
    let (mut bench, _) = Bench::new();
    let Bench {
        carriage, poller, ..
    } = &mut bench;
    carriage.unwatch(poller);
    carriage.want_room(at(5), poller, true);
    assert_eq!(carriage.deadline(), Some(at(6)));
    carriage.watch(poller).unwrap();
    carriage.want_room(at(6), poller, true);
    assert_eq!(carriage.deadline(), None);
    carriage.want_room(at(7), poller, false);
    assert_eq!(carriage.deadline(), None);
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        std::thread::sleep(PATIENCE / 1000);
    }
    panic!("it never came to this: {what}");
}

/// A listener of an engine over this socket; gives its queue of connections and its address.
fn listen_over(engine: &Engine, socket: Box<dyn Transport>) -> (Arc<Incoming>, DccpAddr) {
    let options = Options::new();
    let place = socket.local_addr();
    let incoming = Arc::new(Incoming::new(options.buffers, options.waiting, 8, 64));
    let close_idle: group::CloseIdle = Box::new(|| {});
    let sockets = group::found(vec![socket], [close_idle].into_iter());
    let bound = engine.ask(|reply| {
        Command::Listen(Box::new(Listen {
            encapsulation: Encapsulation::Udp,
            gso: true,
            locals: vec![place],
            dccp_port: 5001,
            is_any_port: false,
            services: vec![ServiceCode::NONE],
            config: Config::default(),
            incoming: incoming.clone(),
            thread: 0,
            sockets: sockets.into_iter().map(Some).collect(),
            given: None,
            reply,
        }))
    });
    assert_eq!(bound.unwrap().unwrap(), [place]);
    (incoming, (place, 5001).into())
}

/// 4340-18-10
#[test]
fn connections_and_listener_survive_the_loss_of_their_socket() {
    for error in [BAD_DESCRIPTOR, NO_MEMORY] {
        let engine = Engine::start(&EngineOptions::new()).unwrap();
        let (socket, faults) = Faulty::open(anywhere());
        let (incoming, address) = listen_over(&engine, socket);
        let options = Options::new().recv_timeout(PATIENCE);
        let client = Socket::connect(address, &options).unwrap();
        let patience = crate::patience::Patience::For(PATIENCE);
        let accepted = incoming.pop(patience).unwrap();
        let server = Socket::from_accepted(&engine, &accepted, &options);
        let mut buf = [0; 9];
        client.send(b"before").unwrap();
        assert_eq!(server.recv(&mut buf), Ok(6));

        faults.fail_recv(error, 6);
        client.send(b"falls in the gap").unwrap();
        let os_error = error;
        let mut told = Vec::new();
        until("its loss is told", || {
            // A short lack of memory is no loss.
            client.send(b"more").unwrap();
            told.extend(core::iter::from_fn(|| server.poll_event()));
            told.contains(&Event::SocketLost { os_error })
        });
        until("it is back", || {
            told.extend(core::iter::from_fn(|| server.poll_event()));
            told.contains(&Event::SocketRestored)
        });
        let mut of_client = core::iter::from_fn(|| client.poll_event());
        assert!(of_client.all(|event| !matches!(event, Event::Closed(_))));
        client.send(b"after").unwrap();
        until("new data arrive", || {
            server.recv(&mut buf).is_ok() && buf.starts_with(b"after")
        });
        let told: Vec<_> = core::iter::from_fn(|| incoming.pop_event()).collect();
        assert!(
            matches!(
                &told[..],
                [ListenerEvent::SocketLost { place, error: e }, ListenerEvent::SocketRestored { place: back }]
                    if *place == address && *back == address && e.raw_os_error() == Some(error)
            ),
            "{told:?}"
        );
        // The listener goes on, too.
        let _other = Socket::connect(address, &options).unwrap();
        incoming.pop(patience).unwrap();
        drop((client, server));
    }
}

#[test]
fn packets_that_this_host_refuses_are_counted_at_their_connection() {
    let engine = Engine::start(&EngineOptions::new()).unwrap();
    let (socket, faults) = Faulty::open(anywhere());
    let (incoming, address) = listen_over(&engine, socket);
    let options = Options::new().recv_timeout(PATIENCE);
    let client = Socket::connect(address, &options).unwrap();
    let accepted = incoming.pop(crate::patience::Patience::For(PATIENCE));
    let server = Socket::from_accepted(&engine, &accepted.unwrap(), &options);
    faults.refusals.store(2, Ordering::SeqCst);
    until("two batches are refused and counted", || {
        server.send(b"one of them").unwrap();
        server.stats().unwrap().host_drops.queue_full >= 2
    });
    assert_eq!(client.stats().unwrap().host_drops.total(), 0);
}
