//! How large a packet may be: the path MTU (RFC 4340 §14), found out as RFC 8899 does.
//!
//! ```text
//!                         suspicion                        lost                 lost at the floor: an outage,
//!   start ──▶ idle ──────────────────▶ verify the PMTU ──────────▶ try smaller ──▶ idle, try again later
//!              ▲ ▲                       │ acked │ ▲                  │ acked
//!              │ └───────────────────────┘       │ │ acked            ▼
//!              │ done            after a raise or│ └─────────── verify once more
//!              └──── search upward ◀── fallback ─┘                    │ lost: a black hole
//!                           ▲──────────────────── fall back ◀─────────┘
//! ```
//!
//! The search begins at the interface's MTU, as RFC 4340 asks, and believes it until an ICMP message with
//! evidence, or losses, speak against it. Probes are padded Syncs: a lost one costs no data (4340-14.1-5). Where
//! the question is whether a size still gets through, data of that size that arrive answer it, too.
//! The PMTU falls only when a smaller size gets through and the PMTU does not: where nothing arrives, size is not the reason.
//! Sizes are of whole packets in bytes, IP header included, unless they are called lengths: those
//! are of application data.

#[cfg(test)]
mod tests;

use super::in_flight::LargeNews;
use crate::config::Config;
use crate::config::bounds::MTU_LEAST;
use crate::path::Path;
use crate::seq::Seq;
use crate::time::Instant;
use core::time::Duration;

/// Every IPv6 path carries this size (RFC 8200 §5); no smaller one is ever used there.
const FLOOR_V6: usize = 1280;
/// No smaller size is used on IPv4 (4340-14.1-7).
const FLOOR_V4: usize = MTU_LEAST;
/// The second fallback: every IPv4 host accepts this size (RFC 791 §3.1).
const COMMON_V4: usize = 576;
/// The first fallback: nearly all IPv4 paths carry it (RFC 8899 §5.1.2).
const BASE_V4: usize = 1200;
/// MTUs of links that exist, largest first (RFC 1191 §7).
const PLATEAUS: [usize; 10] = [32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];
/// Probes of one size that may be lost before the size is given up (RFC 8899 §5.1.2).
const PROBES_MAX: usize = 3;
/// The same limit for the size in use, which got through before. A crowded link that loses every other
/// packet often loses three probes in a row, and is no black hole.
const PROBES_IN_DOUBT: usize = 5;
/// A probe is lost when it is not answered after this many round trips …
const PATIENCE_RTTS: u32 = 4;
/// … and after this time.
const PATIENCE_LEAST: Duration = Duration::from_secs(1);
/// The search ends when it can win no more than this.
const STEP: usize = 8;
/// After an ICMP message lowered the PMTU, a larger size is tried again after this time: a search costs a few packets,
/// and the message may be a lucky forgery.
const RAISE_AFTER_ICMP: Duration = Duration::from_secs(10);
/// A larger size is tried again after this time (RFC 8899 §5.1.1).
const RAISE_INTERVAL: Duration = Duration::from_mins(10);
/// All sizes are tried again after this time if not even the smallest got through.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// More losses than this, of packets larger than any that arrive, are suspicious (4340-14.1-3).
const LOSSES: u32 = 3;
/// For this time after a probe or data refuted a suspicion, no other is raised.
const TRUST: Duration = Duration::from_secs(10);
/// ICMP messages without evidence that may each lead to a probe after [`TRUST`].
const CLAIMS: u32 = 3;
/// The time between probes that further such messages lead to: forgeries then cost a probe a minute.
const MISTRUST: Duration = Duration::from_mins(1);
/// The application may start the discovery again once in this time (RFC 4340 §14.1).
const REDISCOVERY_INTERVAL: Duration = Duration::from_secs(2);
/// Room that the MPS leaves for the DCCP header and options: a `DataAck` with Data Checksum and an RTT
/// Estimate, a Data packet with these and any NDP Count.
const HEADER_ROOM: usize = 24 + 12;
/// No data packet has a smaller header.
const HEADER_LEAST: usize = 12;

/// Counts for statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PmtuCounts {
    /// Probes sent.
    pub(crate) probes: u32,
    /// Probes acknowledged.
    pub(crate) probes_acked: u32,
    /// Times that a size stopped getting through.
    pub(crate) black_holes: u32,
}

/// The path MTU of one connection (4340-14.1-1), and with it the maximum packet size (4340-14-1):
/// none of our CCIDs has a CCMPS of its own.
#[derive(Clone, Debug)]
pub(crate) struct Pmtu {
    /// Bytes below DCCP.
    overhead: usize,
    /// MTU of the interface.
    interface: usize,
    /// The PMTU.
    size: usize,
    /// The length that the last event announced to the application.
    announced: usize,
    is_v6: bool,
    can_probe: bool,
    rtt: Duration,
    doubts: Doubts,
}

/// State of probing, and reasons to doubt the PMTU.
#[derive(Clone, Debug)]
struct Doubts {
    probe: Option<Probe>,
    /// When to look for a larger size.
    raise_at: Option<Instant>,
    gone: Gone,
    trusted_until: Instant,
    /// ICMP messages without evidence that led to a probe since the PMTU changed, and when the next one may.
    claims: u32,
    next_claim: Instant,
    /// When an ICMP message last lowered the PMTU.
    lowered_at: Option<Instant>,
    rediscovered_at: Option<Instant>,
    counts: PmtuCounts,
}

/// The question that a probe answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goal {
    /// Whether the PMTU still gets through.
    Verify { then_search: bool },
    /// Whether a smaller size does where the PMTU does not.
    Fall,
    /// Whether the PMTU gets through again, now that `smaller` does: then it was an outage.
    Recheck { smaller: usize },
    /// Whether more does: at most `high`.
    Search { high: usize },
}

/// The size that is being probed.
#[derive(Clone, Copy, Debug)]
struct Probe {
    goal: Goal,
    size: usize,
    /// The Syncs sent so far. A late answer to the first is as good as one to the last.
    sent: [Option<Seq>; PROBES_IN_DOUBT],
    /// When the last one counts as lost; `None`: the next one is due.
    expires: Option<Instant>,
}

/// Large packets that were lost since one as large arrived.
#[derive(Clone, Copy, Debug)]
struct Gone {
    packets: u32,
    /// The smallest of them, as a length.
    smallest: usize,
}

/// The packet that an ICMP message quotes: one that left lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quote {
    pub(crate) seq: Seq,
    /// Bytes of its application data, unless it had none or the peer has reported it as received.
    pub(crate) len: Option<usize>,
}

impl Pmtu {
    /// The path begins with the MTU of the interface (4340-14.1-1).
    pub(crate) fn new(path: &Path, config: &Config) -> Self {
        let mut pmtu = Self {
            overhead: path.overhead(),
            interface: config.mtu,
            size: config.mtu,
            announced: 0,
            is_v6: path.remote.is_ipv6(),
            can_probe: config.probe_pmtu,
            rtt: Duration::ZERO,
            doubts: Doubts::NONE,
        };
        pmtu.announced = pmtu.mps();
        pmtu
    }

    /// The size of the largest packet to send.
    pub(crate) fn pmtu(&self) -> usize {
        self.size
    }

    /// The maximum packet size: bytes of application data that fit (4340-14-1).
    pub(crate) fn mps(&self) -> usize {
        self.size.saturating_sub(self.overhead + HEADER_ROOM)
    }

    /// Whether [`poll_changed`](Self::poll_changed) would return a size.
    pub(crate) fn has_changed(&self) -> bool {
        self.announced != self.mps()
    }

    /// The new maximum packet size, if it has changed since the last call.
    pub(crate) fn poll_changed(&mut self) -> Option<usize> {
        let mps = self.mps();
        let has_changed = core::mem::replace(&mut self.announced, mps) != mps;
        has_changed.then_some(mps)
    }

    /// Data longer than this makes a packet so large that its loss may mean a black hole.
    /// [`LargeNews`] reports on such packets.
    pub(crate) fn large_len(&self) -> usize {
        match self.fallback() {
            Some(size) if self.can_probe => size.saturating_sub(self.overhead + HEADER_LEAST),
            _ => usize::MAX,
        }
    }

    /// Counts for statistics.
    pub(crate) fn counts(&self) -> PmtuCounts {
        self.doubts.counts
    }

    /// The round-trip time, on which a probe's patience depends.
    pub(crate) fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// The application asks to start again from the interface's MTU. Too soon after the last time
    /// nothing happens and the answer is `false` (RFC 4340 §14.1).
    pub(crate) fn rediscover(&mut self, now: Instant) -> bool {
        let is_early = |at: Instant| now < at + REDISCOVERY_INTERVAL;
        let doubts = &mut self.doubts;
        if doubts.rediscovered_at.is_some_and(is_early) {
            return false;
        }
        doubts.rediscovered_at = Some(now);
        self.use_size(self.interface);
        self.rest(now, RAISE_INTERVAL);
        true
    }

    /// An ICMP message says that a packet was too big for a link of this MTU; 0 if it does not say
    /// which. Returns whether it was of use.
    pub(crate) fn on_too_big(&mut self, now: Instant, mtu: usize, quote: Option<Quote>) -> bool {
        let probe = self.probe();
        let searched = probe.filter(|p| matches!(p.goal, Goal::Search { .. }));
        let searched = searched.map(|p| p.size);
        let is_evident = quote.is_some_and(|quote| self.is_evidence(quote, mtu));
        let mtu = match mtu {
            0 if searched.is_some() => return false, // The probe was too big, and will be missed.
            0 => self.next_plateau(now),
            named => named.max(self.floor()),
        };
        if mtu < self.size {
            // 4340-14.1-6: only evidence lowers the PMTU; anything else is a reason to ask the path.
            return if is_evident {
                self.lower(now, mtu);
                true
            } else {
                self.suspect(now)
            };
        }
        // 4340-14.1-2: from the PMTU on it only says how far a search can reach.
        let is_hint = is_evident && searched.is_some_and(|size| mtu < size);
        if is_hint {
            self.search(now, mtu, mtu);
        }
        is_hint
    }

    /// Whether a message about this packet can be true: the packet has not arrived, and it can have been larger than
    /// `mtu`. An attacker who is not on the path knows neither (4340-14.1-6).
    fn is_evidence(&self, quote: Quote, mtu: usize) -> bool {
        let probe = self.probe().filter(|p| p.sent.contains(&Some(quote.seq)));
        let of_data = quote.len.map(|len| len + self.overhead + HEADER_ROOM);
        let size = probe.map(|p| p.size).or(of_data);
        size.is_some_and(|size| size > mtu)
    }

    fn lower(&mut self, now: Instant, mtu: usize) {
        self.doubts.lowered_at = Some(now);
        self.use_size(mtu);
        self.rest(now, RAISE_AFTER_ICMP);
    }

    /// A message without evidence starts a probe with the size in use (RFC 8899 §4.6.2), but forgeries start few.
    /// Returns whether it does.
    fn suspect(&mut self, now: Instant) -> bool {
        let (can_fall, mps) = (self.can_fall(), self.mps());
        let doubts = &mut self.doubts;
        if !can_fall || doubts.probe.is_some() || now < doubts.next_claim {
            return false;
        }
        doubts.claims = doubts.claims.saturating_add(1);
        doubts.next_claim = now
            + if doubts.claims < CLAIMS {
                TRUST
            } else {
                MISTRUST
            };
        // A full datagram that arrives refutes it, too.
        doubts.gone.smallest = doubts.gone.smallest.min(mps);
        self.verify(false);
        true
    }

    /// Takes the fates of large packets.
    pub(crate) fn on_large(&mut self, now: Instant, news: LargeNews) {
        self.on_large_received(now, news.received_len);
        if news.received_len < news.gone_len {
            self.count_gone(now, news.gone, news.gone_len);
        }
    }

    /// The sending CCID's timer expired while these large packets were in flight. Two such times
    /// with none as large arriving in between are suspicious.
    pub(crate) fn on_silence(&mut self, now: Instant, in_flight: LargeNews) {
        let least = LOSSES.div_ceil(2);
        self.count_gone(now, in_flight.gone.max(least), in_flight.gone_len);
    }

    /// Whether a probe is due.
    pub(crate) fn has_probe_due(&self) -> bool {
        self.poll_probe().is_some()
    }

    /// The size of the packet with which to probe now.
    pub(crate) fn poll_probe(&self) -> Option<usize> {
        let due = self.probe().filter(|p| p.expires.is_none());
        due.map(|p| p.size)
    }

    /// The probe that was due has left as the Sync with this number.
    pub(crate) fn on_probe_sent(&mut self, now: Instant, seq: Seq) {
        let expires = now + self.patience();
        let doubts = &mut self.doubts;
        let Some(probe) = &mut doubts.probe else {
            return;
        };
        doubts.counts.probes += 1;
        probe.expires = Some(expires);
        if let Some(free) = probe.sent.iter_mut().find(|s| s.is_none()) {
            *free = Some(seq);
        }
    }

    /// A `SyncAck` names this Sync.
    pub(crate) fn on_sync_acked(&mut self, now: Instant, sync: Seq) {
        let Some(probe) = self.probe().filter(|p| p.sent.contains(&Some(sync))) else {
            return;
        };
        let (goal, size) = (probe.goal, probe.size);
        self.doubts.counts.probes_acked += 1;
        match goal {
            Goal::Verify { then_search } => self.on_verified(now, then_search),
            Goal::Fall => {
                let goal = Goal::Recheck { smaller: size };
                self.doubts.probe = Some(Probe::new(goal, self.size));
            }
            Goal::Recheck { .. } => self.on_verified(now, false),
            Goal::Search { high } => {
                self.use_size(size);
                self.search(now, high, middle(size, high));
            }
        }
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let doubts = &self.doubts;
        match &doubts.probe {
            Some(probe) => probe.expires,
            None => doubts.raise_at,
        }
    }

    /// The moment of [`poll_timeout`](Self::poll_timeout) may have come.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|at| now < at) {
            return;
        }
        match &mut self.doubts.probe {
            None => self.verify(true),
            Some(probe) if probe.has_more() => probe.expires = None,
            Some(probe) => {
                let (goal, size) = (probe.goal, probe.size);
                self.on_size_lost(now, goal, size);
            }
        }
    }

    /// An acknowledgement reports datagrams, the longest of `len` bytes.
    fn on_large_received(&mut self, now: Instant, len: usize) {
        if let Some(then_search) = self.is_verified_by(len) {
            self.on_verified(now, then_search);
        }
        let doubts = &mut self.doubts;
        if len >= doubts.gone.smallest {
            doubts.gone = Gone::NONE;
        }
    }

    /// Whether data of this length, which arrived, answer what probes are out to verify; then what
    /// the goal goes on with. In a full queue every probe may be lost while data get through.
    fn is_verified_by(&self, received_len: usize) -> Option<bool> {
        let doubts = &self.doubts;
        let (enough, then_search) = match doubts.probe.as_ref()?.goal {
            Goal::Verify { then_search: true } => (self.mps(), true),
            Goal::Verify { then_search: false } => (doubts.gone.smallest, false),
            Goal::Fall | Goal::Recheck { .. } => (doubts.gone.smallest.min(self.mps()), false),
            Goal::Search { .. } => return None,
        };
        (received_len >= enough).then_some(then_search)
    }

    /// The PMTU gets through.
    fn on_verified(&mut self, now: Instant, then_search: bool) {
        let doubts = &mut self.doubts;
        doubts.gone = Gone::NONE;
        if !then_search {
            doubts.trusted_until = now + TRUST;
        }
        // The time to look for more may have come while the PMTU was in doubt.
        if then_search || doubts.raise_at.is_some_and(|at| at <= now) {
            self.search(now, self.interface, self.interface);
        } else {
            doubts.probe = None;
        }
    }

    /// All probes of this size were lost.
    fn on_size_lost(&mut self, now: Instant, goal: Goal, size: usize) {
        match goal {
            Goal::Search { .. } => {
                let high = size - 1;
                self.search(now, high, middle(self.size, high));
            }
            Goal::Verify { .. } | Goal::Fall => match self.fallback_of(size) {
                Some(smaller) => self.doubts.probe = Some(Probe::new(Goal::Fall, smaller)),
                None => self.on_outage(now),
            },
            Goal::Recheck { smaller } => {
                self.doubts.counts.black_holes += 1;
                self.use_size(smaller);
                self.search(now, self.interface, self.interface);
            }
        }
    }

    /// Not even the smallest size gets through, so losses say nothing about the PMTU until the next try.
    fn on_outage(&mut self, now: Instant) {
        let doubts = &mut self.doubts;
        doubts.probe = None;
        doubts.gone = Gone::NONE;
        doubts.trusted_until = now + RETRY_INTERVAL;
        doubts.raise_at = Some(now + RETRY_INTERVAL);
    }

    /// Probes `size` next, unless there is too little to win up to `high`.
    fn search(&mut self, now: Instant, high: usize, size: usize) {
        if high < self.size + STEP {
            self.rest(now, RAISE_INTERVAL);
        } else {
            self.doubts.probe = Some(Probe::new(Goal::Search { high }, size));
        }
    }

    fn verify(&mut self, then_search: bool) {
        let probe = Probe::new(Goal::Verify { then_search }, self.size);
        self.doubts.probe = Some(probe);
    }

    /// `packets` more large packets are gone, the shortest with `len` bytes of data. Verifies the PMTU if
    /// they are too many. What is larger than the PMTU left before that fell, and says nothing more.
    /// Probes that are out are waited for: a search that is interrupted would be forgotten.
    fn count_gone(&mut self, now: Instant, packets: u32, len: usize) {
        if packets == 0 || len > self.size.saturating_sub(self.overhead + HEADER_LEAST) {
            return;
        }
        let can_fall = self.can_fall();
        let doubts = &mut self.doubts;
        let gone = &mut doubts.gone;
        gone.packets = gone.packets.saturating_add(packets);
        gone.smallest = gone.smallest.min(len);
        let is_suspicious = gone.packets > LOSSES && now >= doubts.trusted_until;
        if can_fall && is_suspicious && doubts.probe.is_none() {
            self.verify(false);
        }
    }

    /// Ends all probing; a larger size is tried after `interval`.
    fn rest(&mut self, now: Instant, interval: Duration) {
        let may_rise = self.can_probe && self.size < self.interface;
        let doubts = &mut self.doubts;
        doubts.probe = None;
        doubts.raise_at = may_rise.then(|| now + interval);
    }

    /// Whether probes can show that a smaller size is needed.
    fn can_fall(&self) -> bool {
        self.can_probe && self.fallback().is_some()
    }

    fn use_size(&mut self, size: usize) {
        self.size = size;
        let doubts = &mut self.doubts;
        doubts.gone = Gone::NONE;
        doubts.claims = 0;
    }

    fn probe(&self) -> Option<&Probe> {
        self.doubts.probe.as_ref()
    }

    /// The first fallback.
    fn base(&self) -> usize {
        let base = if self.is_v6 { FLOOR_V6 } else { BASE_V4 };
        base.min(self.interface)
    }

    /// No size below is ever used.
    fn floor(&self) -> usize {
        let floor = if self.is_v6 { FLOOR_V6 } else { FLOOR_V4 };
        floor.min(self.interface)
    }

    /// The next size below the PMTU that can be expected to work; none below the floor.
    fn fallback(&self) -> Option<usize> {
        self.fallback_of(self.size)
    }

    /// The same below another size.
    fn fallback_of(&self, size: usize) -> Option<usize> {
        let common = COMMON_V4.clamp(self.floor(), self.base());
        [self.base(), common, self.floor()]
            .into_iter()
            .find(|&smaller| smaller < size)
    }

    /// 4340-14.1-2: where a message names no MTU, the plateau below the PMTU. All packets in flight
    /// when it was lowered may cause such messages, so for a while these lower it no further.
    fn next_plateau(&self, now: Instant) -> usize {
        let is_recent = |at: Instant| now < at + self.patience();
        if self.doubts.lowered_at.is_some_and(is_recent) {
            return self.size;
        }
        let below = PLATEAUS.into_iter().find(|&p| p < self.size);
        below.unwrap_or(self.size).max(self.floor())
    }

    /// How long an answer may take.
    fn patience(&self) -> Duration {
        (self.rtt * PATIENCE_RTTS).max(PATIENCE_LEAST)
    }
}

impl Doubts {
    const NONE: Self = Self {
        probe: None,
        raise_at: None,
        gone: Gone::NONE,
        trusted_until: Instant::ZERO,
        claims: 0,
        next_claim: Instant::ZERO,
        lowered_at: None,
        rediscovered_at: None,
        counts: PmtuCounts {
            probes: 0,
            probes_acked: 0,
            black_holes: 0,
        },
    };
}

impl Probe {
    const fn new(goal: Goal, size: usize) -> Self {
        Self {
            goal,
            size,
            sent: [None; PROBES_IN_DOUBT],
            expires: None,
        }
    }

    /// Whether to try once more.
    fn has_more(&self) -> bool {
        let most = match self.goal {
            Goal::Verify { then_search: false } => PROBES_IN_DOUBT,
            Goal::Recheck { .. } => 1,
            Goal::Verify { .. } | Goal::Fall | Goal::Search { .. } => PROBES_MAX,
        };
        self.sent.iter().flatten().count() < most
    }
}

impl Gone {
    const NONE: Self = Self {
        packets: 0,
        smallest: usize::MAX,
    };
}

/// Half way from `low` to `high`, nearer to `high`.
const fn middle(low: usize, high: usize) -> usize {
    low + (high - low).div_ceil(2)
}
