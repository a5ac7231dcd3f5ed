//! Ours.

use crate::report::{LatenessReport, Meter, Report, say_ready};
use crate::sizes::Sizes;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use dccp::packet_ring::{Label, PushError, Shape};
use dccp::{
    Encapsulation, Engine, EngineOptions, Listener, Options, RecvBatch, RingSocket, SendItem,
    Socket, clock,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[derive(Args)]
pub(crate) struct SinkArgs {
    local: SocketAddr,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(crate) struct SendArgs {
    remote: SocketAddr,
    #[command(flatten)]
    common: Common,
    /// How the application hands its datagrams over
    #[arg(long, value_enum, default_value = "batch")]
    form: Form,
    /// Bytes of a datagram, as 1400 or 64-1400
    #[arg(long, default_value = "1400")]
    size: Sizes,
    /// Seconds
    #[arg(long, default_value_t = 3.0)]
    time: f64,
}

#[derive(Args)]
struct Common {
    #[arg(long, value_enum, default_value = "udp")]
    over: Carrier,
    #[arg(long, default_value_t = 2)]
    ccid: u8,
    /// Checksum coverage (RFC 4340 §9.2): 0 is all, 1 the header
    #[arg(long, default_value_t = 0)]
    coverage: u8,
    /// Bytes of the largest packet
    #[arg(long)]
    mtu: Option<usize>,
    /// Each datagram with a system call of its own
    #[arg(long)]
    no_gso: bool,
    /// Packets of the largest window
    #[arg(long)]
    window: Option<u32>,
    /// Microseconds before a deadline that the engine does not sleep through
    #[arg(long, default_value_t = 0)]
    busy_wait: u64,
    /// The sink sends too, as fast as it can
    #[arg(long)]
    both_ways: bool,
    /// Seconds at the beginning that do not count
    #[arg(long, default_value_t = 0.0)]
    skip: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Carrier {
    Udp,
    Ip,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A call for each
    Send,
    /// A call for many
    Batch,
    /// Through a packet ring in this process
    Ring,
}

const PORT: u16 = 5001;
/// Datagrams of one call.
const BATCH: usize = 64;
/// Datagrams that may wait: an application that shares its core with the engine has to wait for its turn.
const BUFFER: usize = 8192;
/// Their bytes: more than the default, because full packets of all of them must fit.
const BUFFER_BYTES: u64 = 16 << 20;

impl Common {
    fn meter(&self) -> Meter {
        Meter::after(Duration::from_secs_f64(self.skip))
    }

    fn options(&self) -> Result<Options> {
        let engine = EngineOptions::new().busy_wait(Duration::from_micros(self.busy_wait));
        let over = match self.over {
            Carrier::Udp => Encapsulation::Udp,
            Carrier::Ip => Encapsulation::Ip,
        };
        let options = Options::new()
            .engine(&Engine::start(&engine)?)
            .encapsulation(over)
            .ccid(self.ccid)
            .service_code(*b"BNCH")
            .recv_buffer(BUFFER)
            .recv_buffer_bytes(BUFFER_BYTES)
            .segmentation_offload(!self.no_gso)
            .checksum_coverage(self.coverage)
            .min_checksum_coverage(self.coverage)
            .max_rate(None)
            .configure(|config| config.max_window = self.window);
        Ok(match self.mtu {
            Some(bytes) => options.mtu(bytes),
            None => options,
        })
    }
}

pub(crate) fn sink(args: &SinkArgs) -> Result<Report> {
    let listener = Listener::bind((args.local, PORT), &args.common.options()?)?;
    say_ready();
    let socket = Arc::new(listener.accept()?);
    let sender = args.common.both_ways.then(|| {
        let socket = socket.clone();
        thread::spawn(move || send_until_the_end(&socket))
    });
    let mut meter = args.common.meter();
    receive(&socket, &mut meter);
    if let Some(Err(_)) = sender.map(JoinHandle::join) {
        bail!("the sending thread panicked");
    }
    meter.report()
}

/// Receives until the peer closes.
fn receive(socket: &Socket, meter: &mut Meter) {
    let mut batch = RecvBatch::new(BATCH);
    while let Ok(n) = socket.recv_batch(&mut batch) {
        let bytes: usize = batch.iter().map(|datagram| datagram.len()).sum();
        meter.add(n as u64, bytes as u64);
    }
}

/// Sends packets of the usual size until the connection ends.
fn send_until_the_end(socket: &Socket) {
    let payload = [7; 1400];
    let item = || SendItem::new(&payload);
    while socket
        .send_batch(&mut std::array::from_fn::<_, BATCH, _>(|_| item()))
        .is_ok()
    {}
}

pub(crate) fn send(args: &SendArgs) -> Result<Report> {
    let socket = Socket::connect((args.remote, PORT), &args.common.options()?)?;
    match socket.max_packet_size() {
        Some(most) if args.size.most > most => {
            bail!("{} bytes do not fit {most}", args.size.most)
        }
        _ => {}
    }
    let payload = vec![7; args.size.most];
    let sizes: [usize; BATCH] = args.size.batch();
    let bytes = sizes.iter().sum::<usize>() as u64;
    let end = clock::now() + Duration::from_secs_f64(args.time);
    let mut meter = args.common.meter();
    let mut way = Way::open(socket, args.form, args.size.most)?;
    let back = match (&way, args.common.both_ways) {
        (_, false) => None,
        (Way::Ring(_), true) => bail!("both ways: say --form send or --form batch"),
        (Way::Each(socket) | Way::Together(socket), true) => {
            let (socket, mut meter) = (socket.clone(), args.common.meter());
            Some(thread::spawn(move || {
                receive(&socket, &mut meter);
                meter.bytes()
            }))
        }
    };
    while clock::now() < end {
        way.send(&payload, &sizes)?;
        meter.add(BATCH as u64, bytes);
    }
    let socket = way.socket();
    let pacing = socket.stats().ok().map(|stats| stats.pacing);
    socket.close()?;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let mut report = meter.report()?;
    if let Some(Ok(bytes)) = back.map(JoinHandle::join) {
        report.back_bytes = bytes;
    }
    report.lateness = pacing.map(|pacing| LatenessReport {
        samples: pacing.quanta,
        p50_us: us(pacing.p50),
        p99_us: us(pacing.p99),
    });
    Ok(report)
}

/// How the application hands its datagrams over.
enum Way {
    Each(Arc<Socket>),
    Together(Arc<Socket>),
    Ring(Box<RingSocket>),
}

/// Slots of the ring: as many as wait in the send buffer by default.
const SLOTS: u32 = 256;

impl Way {
    fn open(socket: Socket, form: Form, size_max: usize) -> Result<Self> {
        Ok(match form {
            Form::Send => Self::Each(socket.into()),
            Form::Batch => Self::Together(socket.into()),
            Form::Ring => {
                let shape = Shape::new(SLOTS, size_max.try_into()?);
                Self::Ring(Box::new(RingSocket::new(socket, shape)?))
            }
        })
    }

    /// Hands over one datagram of each size.
    fn send(&mut self, payload: &[u8], sizes: &[usize; BATCH]) -> Result<()> {
        match self {
            Self::Each(socket) => {
                for size in sizes {
                    socket.send(&payload[..*size])?;
                }
            }
            Self::Together(socket) => {
                let item = |size| SendItem::new(&payload[..size]);
                socket.send_batch(&mut sizes.map(item))?;
            }
            Self::Ring(ring) => {
                let mut sizes = sizes.iter().peekable();
                while sizes.peek().is_some() {
                    ring.wait_for_room()?;
                    let mut batch = ring.sender().batch();
                    while let Some(size) = sizes.peek() {
                        match batch.push(&payload[..**size], Label::default()) {
                            Ok(_) => _ = sizes.next(),
                            Err(PushError::Full) => break,
                            Err(error) => return Err(error.into()),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Each(socket) | Self::Together(socket) => socket,
            Self::Ring(ring) => ring.socket(),
        }
    }
}
