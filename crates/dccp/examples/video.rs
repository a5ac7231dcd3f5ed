//! A video sender: frames as messages over a link that falls from 5 to 2 Mbit/s.
//!
//! The encoder makes each frame as large as the link's rate hint allows. A frame that is late is not sent to its end, so
//! that the next ones arrive complete.

use dccp::message::{MessageOptions, MessageSocket, with_messages};
use dccp::{Fate, Instant, Listener, Options, RateHint, clock};
use std::collections::VecDeque;
use std::error::Error;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const FRAME_TIME: Duration = Duration::from_micros(33_333);
const FRAMES: u32 = 120;
/// One frame in 30 can be decoded by itself. It is three times as large.
const INTRA_EVERY: u32 = 30;
/// A frame older than this is not worth sending.
const LIFETIME: Duration = Duration::from_millis(200);
/// Bits per second of the link, before and after the fall.
const BEFORE: u64 = 5_000_000;
const AFTER: u64 = 2_000_000;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = with_messages(Options::new(), *b"vid");
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let link = Link::start(listener.local_addrs()[0].udp_addr())?;
    let mut through_the_link = listener.local_addrs()[0];
    through_the_link.udp_port = link.address.port();
    let camera = MessageSocket::connect(through_the_link, &options)?;
    let screen = MessageSocket::new(listener.accept()?)?;
    let viewer = thread::spawn(move || watch(&screen));

    let mut reports = Vec::new();
    let mut next = clock::now();
    for n in 0..FRAMES {
        if n == FRAMES / 2 {
            link.bits_per_s.store(AFTER, Ordering::Relaxed);
        }
        let is_intra = n % INTRA_EVERY == 0;
        let len = frame_len(camera.socket().rate_hint()?, is_intra);
        let options = MessageOptions::new()
            .lifetime(LIFETIME)
            .priority(u8::from(is_intra))
            .tag(u64::from(n));
        // A full sender has too many old frames: this one is skipped.
        let _ = camera.send(encode(len), options);
        camera.recv_fates(&mut reports, usize::MAX);
        next += FRAME_TIME;
        thread::sleep(next - clock::now());
    }
    camera.close(Duration::from_secs(10))?;
    camera.recv_fates(&mut reports, usize::MAX);
    let (shown, oldest) = viewer.join().map_err(|_| "the viewer panicked")?;
    let of = |fate: Fate| reports.iter().filter(|report| report.fate == fate).count();
    println!(
        "{shown} of {FRAMES} frames shown, the oldest {} ms old; {} expired, {} lost",
        oldest.as_millis(),
        of(Fate::Expired),
        of(Fate::Lost)
    );
    assert!(shown >= FRAMES as usize / 2, "{shown} frames");
    assert!(oldest < Duration::from_secs(2), "{oldest:?}");
    Ok(())
}

/// Bytes of the next frame: the share of one frame in what the network carries, with some distance.
fn frame_len(hint: Option<RateHint>, is_intra: bool) -> usize {
    const LEN_MAX: u64 = 25_000;
    let Some(hint) = hint else { return 1000 };
    let proven = hint.delivered_bits_per_s.unwrap_or(0);
    // An application-limited rate is a guess, so the encoder grows in steps.
    let rate = if hint.is_app_limited {
        hint.bits_per_s.min(proven + proven / 4 + 200_000)
    } else {
        hint.bits_per_s.min(proven + 200_000)
    };
    let budget = RateHint {
        bits_per_s: rate * 3 / 4,
        ..hint
    };
    let share = budget.burst_budget(hint.wait + FRAME_TIME) * if is_intra { 3 } else { 1 };
    // Behind a long queue even a small frame is late.
    let len = if hint.wait > LIFETIME / 2 { 500 } else { share };
    usize::try_from(len.clamp(500, LEN_MAX)).unwrap_or(500)
}

/// A frame begins with the time at which it was made.
fn encode(len: usize) -> Vec<u8> {
    let mut frame = clock::now().as_nanos().to_be_bytes().to_vec();
    frame.resize(len, 7);
    frame
}

/// Counts the complete frames, and finds the age of the oldest.
fn watch(screen: &MessageSocket) -> (usize, Duration) {
    let (mut shown, mut oldest) = (0, Duration::ZERO);
    while let Ok(frame) = screen.recv() {
        if let Some(made) = frame.data.first_chunk() {
            let made = Instant::from_nanos(u64::from_be_bytes(*made));
            oldest = oldest.max(frame.completed - made);
            shown += 1;
        }
    }
    (shown, oldest)
}

/// A link with a rate and a queue of 30 packets towards the server; the way back is free.
struct Link {
    address: SocketAddr,
    bits_per_s: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Link {
    fn start(server: SocketAddr) -> std::io::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let link = Self {
            address: socket.local_addr()?,
            bits_per_s: Arc::new(AtomicU64::new(BEFORE)),
            is_over: Arc::new(AtomicBool::new(false)),
        };
        socket.set_read_timeout(Some(Duration::from_millis(1)))?;
        let (rate, is_over) = (link.bits_per_s.clone(), link.is_over.clone());
        thread::spawn(move || forward(&socket, server, &rate, &is_over));
        Ok(link)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn forward(socket: &UdpSocket, server: SocketAddr, rate: &AtomicU64, is_over: &AtomicBool) {
    let mut client = None;
    let mut queue: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut buf = [0; 2000];
    while !is_over.load(Ordering::Relaxed) {
        let now = clock::now();
        while let Some((_, packet)) = queue.pop_front_if(|(at, _)| *at <= now) {
            let _ = socket.send_to(&packet, server);
        }
        match socket.recv_from(&mut buf) {
            Ok((len, from)) if from == server => {
                if let Some(client) = client {
                    let _ = socket.send_to(&buf[..len], client);
                }
            }
            Ok((len, from)) if queue.len() < 30 => {
                client = Some(from);
                let bits = 8 * len as u64;
                let time =
                    Duration::from_nanos(bits * 1_000_000_000 / rate.load(Ordering::Relaxed));
                let free = queue.back().map_or(now, |(at, _)| (*at).max(now));
                queue.push_back((free + time, buf[..len].to_vec()));
            }
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}
