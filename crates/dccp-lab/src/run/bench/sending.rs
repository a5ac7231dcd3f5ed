//! Ways to hand datagrams over, on the loopback interface of this machine. Both ends are threads of this process.

use super::timer;
use crate::run::outcome::Figures;
use crate::scenario::plan::Call;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp::packet_ring::{Label, PushError, Shape};
use dccp::{
    Engine, EngineOptions, Listener, Options, RecvBatch, RingSocket, SendItem, Socket, clock,
};
use dccp_proto::number::to_f64;
use std::error::Error;
use std::net::UdpSocket;
use std::thread;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Slots of the ring, and datagrams that the receiver stores.
const SLOTS: u32 = 4096;
const RECV_BUFFER: usize = 1 << 14;
/// Datagrams that the receiver takes at a time.
const RECV_BATCH: usize = 1024;
/// A call that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(5);
/// The receiver's thread looks this often whether to end.
const LOOK: Duration = Duration::from_millis(50);

/// Sends for the time, after a fifth of it to warm up.
pub(super) fn measure(by: Call, batch: usize, size: usize, time: Duration) -> Outcome<Figures> {
    let data = vec![7; size];
    match by {
        Call::Udp => over_udp(&data, time),
        Call::Socket => over_dccp(time, |socket| {
            let mut items = vec![SendItem::new(&data); batch];
            Ok(move || Ok(socket.send_batch(&mut items).map(drop)?))
        }),
        Call::Ring => over_dccp(time, |socket| {
            let mut ring = RingSocket::new(socket, Shape::new(SLOTS, u32::try_from(size)?))?;
            Ok(move || push(&mut ring, &data, batch))
        }),
    }
}

/// Pushes a batch, as far as there is room. Waits where there is none.
fn push(ring: &mut RingSocket, data: &[u8], batch: usize) -> Outcome {
    let mut pushing = ring.sender().batch();
    let pushed = (0..batch).try_for_each(|_| pushing.push(data, Label::default()).map(drop));
    drop(pushing);
    match pushed {
        Ok(()) => Ok(()),
        Err(PushError::Full) => Ok(ring.wait_for_room()?),
        Err(error) => Err(error.into()),
    }
}

/// A system call for each datagram; those that are sent count.
fn over_udp(data: &[u8], time: Duration) -> Outcome<Figures> {
    let sink = UdpSocket::bind("127.0.0.1:0")?;
    sink.set_read_timeout(Some(LOOK))?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(sink.local_addr()?)?;
    let (sent, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut buffer = vec![0; data.len() + 1];
    thread::scope(|scope| {
        scope.spawn(|| {
            // An empty queue lets a call time out.
            while !is_over.load(Ordering::Relaxed) {
                let _ = sink.recv(&mut buffer);
            }
        });
        let figures = run(time, &sent, || {
            socket.send(data)?;
            sent.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        figures
    })
}

/// A connection whose sender `begin` makes; datagrams that arrive count.
fn over_dccp<S: FnMut() -> Outcome>(
    time: Duration,
    begin: impl FnOnce(Socket) -> Outcome<S>,
) -> Outcome<Figures> {
    // Each end has a thread of its own, as if it were another process.
    let options = || {
        let engine = Engine::start(&EngineOptions::new())?;
        let options = Options::new().ccid(2).recv_buffer(RECV_BUFFER);
        Ok::<_, Box<dyn Error>>(options.send_timeout(PATIENCE).engine(&engine))
    };
    let listener = Listener::bind("127.0.0.1:0/0", &options()?)?;
    let socket = Socket::connect(listener.local_addrs(), &options()?)?;
    let sink = listener.accept_timeout(PATIENCE)?;
    let delivered = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut batch = RecvBatch::new(RECV_BATCH);
            while let Ok(n) = sink.recv_batch(&mut batch) {
                delivered.fetch_add(n as u64, Ordering::Relaxed);
            }
        });
        let figures = begin(socket).and_then(|send| run(time, &delivered, send));
        // This ends the receiver's thread.
        sink.abort();
        figures
    })
}

/// Calls `send` for the time, and counts meanwhile.
fn run(time: Duration, counter: &AtomicU64, mut send: impl FnMut() -> Outcome) -> Outcome<Figures> {
    timer::repeat_for(time / 5, &mut send)?;
    let read = || {
        let count = counter.load(Ordering::Relaxed);
        (count, clock::now(), timer::of_process())
    };
    let (count, begin, spent) = read();
    timer::repeat_for(time, &mut send)?;
    let most = clock::now() + PATIENCE;
    while counter.load(Ordering::Relaxed) == count && clock::now() < most {
        timer::repeat_for(LOOK, &mut send)?;
    }
    let (last_count, end, last_spent) = read();
    let operations = last_count - count;
    if operations == 0 {
        return Err("no datagram arrives".into());
    }
    let number = to_f64(operations);
    let spent = (last_spent.zip(spent)).map(|(last, first)| last.saturating_sub(first));
    Ok(Figures {
        operations,
        operations_per_s: number / (end - begin).as_secs_f64(),
        cost_ns: spent.map(|spent| spent.as_secs_f64() * 1e9 / number),
        ..Figures::default()
    })
}
