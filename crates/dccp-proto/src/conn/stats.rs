//! Counters: Linux's DCCP MIB by its names, and what it lacks; why packets are dropped.

use super::Timer;
use crate::wire::ack_cells::DropCode;
use crate::wire::{PacketType, ParseError, ResetCode};
use core::ops::AddAssign;

/// A struct of counters with a name for each, which can be listed and summed.
macro_rules! counters {
    (
        $(#[$doc:meta])*
        pub struct $type:ident { $($(#[$field_doc:meta])* $field:ident = $name:literal,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $type { $($(#[$field_doc])* pub $field: u64,)+ }

        impl $type {
            /// All counters with their names, always in the same order.
            pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$(($name, self.$field),)+].into_iter()
            }
        }

        impl AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }
    };
}

counters! {
    /// The counters of Linux's DCCP MIB, named as `/proc` would name them. `DCCPAbortFailed` is absent: the core does not learn
    /// whether a Reset has left the host.
    pub struct Mib {
        /// Connections opened actively.
        active_opens = "DCCPActiveOpens",
        /// Established connections that were reset.
        estab_resets = "DCCPEstabResets",
        /// Connections established now. The only one that also goes down.
        curr_estab = "DCCPCurrEstab",
        /// Packets sent.
        out_segs = "DCCPOutSegs",
        /// Resets sent.
        out_rsts = "DCCPOutRsts",
        /// Connections given up after repeating a packet in vain.
        abort_on_timeout = "DCCPAbortOnTimeout",
        /// Timeouts of any sort that made a packet be repeated.
        timeouts = "DCCPTimeouts",
        /// Connections accepted.
        passive_opens = "DCCPPassiveOpens",
        /// Handshakes that failed.
        attempt_fails = "DCCPAttemptFails",
        /// Datagrams of the application sent.
        out_datagrams = "DCCPOutDatagrams",
        /// Packets received that were malformed or had a bad checksum.
        in_errs = "DCCPInErrs",
        /// Connections that this end reset because it did not understand a Mandatory option.
        opt_mandatory_error = "DCCPOptMandatoryError",
        /// Connections that this end reset because of an invalid option.
        invalid_opt = "DCCPInvalidOpt",
    }
}

counters! {
    /// Data, acknowledgements and control packets of a connection.
    pub struct Counters {
        /// Bytes sent, DCCP headers included.
        bytes_out = "bytes_out",
        /// Bytes received, DCCP headers included.
        bytes_in = "bytes_in",
        /// Bytes of application data sent.
        data_bytes_out = "data_bytes_out",
        /// Bytes of application data received for the first time.
        data_bytes_in = "data_bytes_in",
        /// Bytes of Ack packets sent, DCCP headers included.
        ack_bytes_out = "ack_bytes_out",
        /// Bytes of Ack packets received, DCCP headers included.
        ack_bytes_in = "ack_bytes_in",
        /// Bytes of Ack Vector options sent.
        ack_vector_bytes_out = "ack_vector_bytes_out",
        /// Bytes of Ack Vector options received.
        ack_vector_bytes_in = "ack_vector_bytes_in",
        /// Datagrams sent.
        data_sent = "data_sent",
        /// Sent datagrams that the peer reported as received, unmarked.
        data_acked = "data_acked",
        /// Sent datagrams that the peer reported as received with a congestion mark.
        data_marked = "data_marked",
        /// Sent datagrams that were taken for lost.
        data_lost = "data_lost",
        /// Datagrams taken for lost that the peer reported as received later.
        spurious_losses = "spurious_losses",
        /// Datagrams received for the first time.
        data_received = "data_received",
        /// Received datagrams that the application took.
        data_delivered = "data_delivered",
        /// Packets received more than once.
        duplicates = "duplicates",
        /// Packets received with a congestion mark.
        ce_received = "ce_received",
        /// Packets received with ECT(1).
        ect1_received = "ect1_received",
        /// Acknowledgements of the peer that were lost or marked.
        acks_lost = "acks_lost",
        /// Ack Vectors received with Nonce Echo 0 (4340-12.2-2).
        nonce_echoes_0 = "nonce_echoes_0",
        /// Ack Vectors received with Nonce Echo 1 (4340-12.2-2).
        nonce_echoes_1 = "nonce_echoes_1",
        /// Ack Vectors that could not be true and were ignored.
        invalid_vectors = "invalid_vectors",
        /// Sequence numbers withheld to test the peer's reports (4340-12.3-2).
        audits = "audits",
        /// Withheld numbers that the peer reported as received.
        misreports = "misreports",
        /// Data Dropped options that could not be true and were ignored.
        invalid_data_dropped = "invalid_data_dropped",
        /// Returns of GSR after a forged packet (4340-7.5.4-10).
        rollbacks = "rollbacks",
        /// Packets received with a Slow Receiver option.
        slow_receiver = "slow_receiver",
        /// Round-trip samples.
        rtt_samples = "rtt_samples",
        /// Samples of the delivered rate.
        rate_samples = "rate_samples",
        /// Retransmission or nofeedback timeouts of the sending CCID.
        cc_timeouts = "cc_timeouts",
        /// Requests sent after the first one of an attempt (4340-8.1.1-1).
        requests_repeated = "requests_repeated",
        /// Syncs not sent because of the limit (4340-7.5.4-6).
        syncs_limited = "syncs_limited",
        /// Resets not sent because of a limit (4340-8.1.3-1).
        resets_limited = "resets_limited",
        /// Options that the peer should not have sent, ignored.
        options_ignored = "options_ignored",
        /// Responses with an Init Cookie (RFC 4340 §8.1.4).
        cookies_sent = "cookies_sent",
        /// Values of features that changed.
        feature_changes = "feature_changes",
        /// Path MTU probes sent.
        pmtu_probes = "pmtu_probes",
        /// Path MTU probes that were answered.
        pmtu_probes_acked = "pmtu_probes_acked",
        /// Times that the path stopped carrying packets of a size that it had carried.
        pmtu_black_holes = "pmtu_black_holes",
        /// ICMP messages used.
        icmp_used = "icmp_used",
        /// ICMP messages ignored because they quoted nothing sent lately (4340-14.1-3).
        icmp_ignored = "icmp_ignored",
    }
}

/// One counter for each packet type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerType([u64; PacketType::ALL.len()]);

impl PerType {
    /// One more packet of this type.
    pub fn count(&mut self, packet_type: PacketType) {
        self.add(packet_type, 1);
    }

    /// Adds `packets` packets.
    pub fn add(&mut self, packet_type: PacketType, packets: u64) {
        self.0[packet_type as usize] += packets;
    }

    /// Packets of this type.
    pub fn of(&self, packet_type: PacketType) -> u64 {
        self.0[packet_type as usize]
    }

    /// Packets of all types.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl AddAssign for PerType {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

/// One counter for each timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerTimer([u64; Timer::ALL.len()]);

impl PerTimer {
    /// The timer expired once more.
    pub fn count(&mut self, timer: Timer) {
        self.0[timer as usize] += 1;
    }

    /// Expiries of this timer.
    pub fn of(&self, timer: Timer) -> u64 {
        self.0[timer as usize]
    }
}

impl AddAssign for PerTimer {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

/// One counter for each Reset Code of an RFC, one for all CCID-specific codes and one for all others (RFC 4340 §5.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerResetCode([u64; PerResetCode::KINDS]);

impl PerResetCode {
    /// The codes of RFCs are those below this number.
    const ASSIGNED: u8 = ResetCode::ABRUPT_MP_TERMINATION.0 + 1;
    const KINDS: usize = Self::ASSIGNED as usize + 2;

    /// One code for each counter: those of RFCs, the first one that is CCID-specific, and one that is not assigned.
    pub fn codes() -> impl Iterator<Item = ResetCode> {
        let assigned = (0..Self::ASSIGNED).map(ResetCode);
        assigned.chain([ResetCode(128), ResetCode(Self::ASSIGNED)])
    }

    /// One more Reset with this code.
    pub fn count(&mut self, code: ResetCode) {
        self.add(code, 1);
    }

    /// Adds `resets` with this code.
    pub fn add(&mut self, code: ResetCode, resets: u64) {
        self.0[Self::place(code)] += resets;
    }

    /// Resets with this code, or with any of its kind.
    pub fn of(&self, code: ResetCode) -> u64 {
        self.0[Self::place(code)]
    }

    /// Resets with any code.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    fn place(code: ResetCode) -> usize {
        match code.0 {
            assigned @ 0..Self::ASSIGNED => usize::from(assigned),
            128.. => Self::KINDS - 2,
            _ => Self::KINDS - 1,
        }
    }
}

impl AddAssign for PerResetCode {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

/// Resets by code, of one connection; added up, of an endpoint. A connection stores them in less room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resets {
    /// Resets sent.
    pub sent: PerResetCode,
    /// Resets that were in sequence and ended the connection.
    pub received: PerResetCode,
}

impl AddAssign for Resets {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// One counter for each Drop Code (RFC 4340 §11.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerDropCode([u64; 8]);

impl PerDropCode {
    /// One more datagram with this code.
    pub fn count(&mut self, code: DropCode) {
        self.0[usize::from(code.number())] += 1;
    }

    /// Datagrams with this code.
    pub fn of(&self, code: DropCode) -> u64 {
        self.0[usize::from(code.number())]
    }

    /// Datagrams with any code.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl AddAssign for PerDropCode {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

/// Reasons to drop a packet, with a name for each.
macro_rules! drop_reasons {
    ($($(#[$doc:meta])* $reason:ident = $name:literal,)+) => {
        /// Why a received packet, or its data, was dropped. In the order of RFC 4340 §8.5.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum DropReason { $($(#[$doc])* $reason,)+ }

        impl DropReason {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$reason,)+];

            /// The reason's name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$reason => $name,)+ }
            }
        }
    };
}

drop_reasons! {
    /// Step 1: fewer than 12 bytes.
    TooShort = "too_short",
    /// Step 1: a packet type that is not assigned.
    UnknownType = "unknown_type",
    /// Step 1: 24-bit sequence numbers on a type that needs 48.
    ShortSeqno = "short_seqno",
    /// Step 1: Data Offset points into the header.
    DataOffsetTooSmall = "data_offset_too_small",
    /// Step 1: Data Offset points behind the end.
    DataOffsetTooLarge = "data_offset_too_large",
    /// Step 1: Checksum Coverage exceeds the application data.
    CscovTooLarge = "cscov_too_large",
    /// Step 1: the checksum does not match.
    BadChecksum = "bad_checksum",
    /// Step 1: a simulated datagram whose counted zeros begin in the middle of something.
    Divided = "divided",
    /// From or to an address that no connection can have.
    BadAddress = "bad_address",
    /// Step 2: no connection and no listener.
    NoConnection = "no_connection",
    /// Step 2: the connection is in TIMEWAIT.
    TimeWait = "time_wait",
    /// Step 2: another connection has the UDP ports (RFC 6773 §3.8).
    PortReuse = "port_reuse",
    /// Step 3: only a Request opens a connection.
    NotRequest = "not_request",
    /// Step 3: no listener on this port has the Service Code.
    BadServiceCode = "bad_service_code",
    /// Step 3: too many connections already.
    TooBusy = "too_busy",
    /// Step 3: the Init Cookie is wrong or missing.
    BadInitCookie = "bad_init_cookie",
    /// Step 3: the network that the Request names has had enough Responses (4340-18-5).
    ResponseLimit = "response_limit",
    /// An unexpected Listen packet (RFC 5596).
    UnwantedListen = "unwanted_listen",
    /// Step 4: in REQUEST only a Response or Reset of our Request counts.
    NotResponse = "not_response",
    /// Step 5: a Sync or SyncAck out of the windows.
    SyncOutOfWindow = "sync_out_of_window",
    /// Step 6: 24-bit sequence numbers without having agreed on them.
    ShortSeqnoRefused = "short_seqno_refused",
    /// Step 6: the sequence number is out of its window.
    SeqnoOutOfWindow = "seqno_out_of_window",
    /// Step 6: the acknowledgement number is out of its window.
    AcknoOutOfWindow = "ackno_out_of_window",
    /// Step 7: a type that cannot come in this state.
    UnexpectedType = "unexpected_type",
    /// Step 8: an option made us reset the connection.
    OptionReset = "option_reset",
    /// The connection is over.
    Closed = "closed",
    /// The packet, or the data of a repeated Request, came before.
    Duplicate = "duplicate",
    /// The data came before the negotiation that it needs was done (4340-8.2-3).
    NotReady = "not_ready",
    /// Less of the data is covered by the checksum than we accept (4340-9.2.1-2).
    BelowMinCscov = "below_min_cscov",
    /// Data Checksum does not match (4340-9.3-2).
    DataCorrupt = "data_corrupt",
    /// The application's receive buffer is full.
    ReceiveBuffer = "receive_buffer",
    /// The application no longer listens.
    NotListening = "not_listening",
}

impl From<ParseError> for DropReason {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::TooShort => Self::TooShort,
            ParseError::UnknownType => Self::UnknownType,
            ParseError::ShortSeqno => Self::ShortSeqno,
            ParseError::DataOffsetTooSmall => Self::DataOffsetTooSmall,
            ParseError::DataOffsetTooLarge => Self::DataOffsetTooLarge,
            ParseError::CscovTooLarge => Self::CscovTooLarge,
            ParseError::BadChecksum => Self::BadChecksum,
            ParseError::Divided => Self::Divided,
        }
    }
}

/// One counter for each [`DropReason`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DropCounts([u64; DropReason::ALL.len()]);

impl DropCounts {
    /// One more packet dropped for this reason.
    pub fn count(&mut self, reason: DropReason) {
        self.0[reason as usize] += 1;
    }

    /// Packets dropped for this reason.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// Packets dropped for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// All counters with their names, in the order of [`DropReason::ALL`].
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        DropReason::ALL.iter().map(|r| r.name()).zip(self.0)
    }
}

impl AddAssign for DropCounts {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

/// All counters of one connection; added up, of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Linux's counters.
    pub mib: Mib,
    /// Ours.
    pub counters: Counters,
    /// Packets sent, by type.
    pub packets_out: PerType,
    /// Packets received that passed step 1 of RFC 4340 §8.5, by type.
    pub packets_in: PerType,
    /// Sent datagrams that the peer's host dropped, by Drop Code (RFC 4340 §11.7).
    pub rx_dropped: [u64; 8],
    /// Received datagrams that were reported to the peer as dropped here, by Drop Code.
    pub drop_codes_out: PerDropCode,
    /// Received packets that were dropped, by reason.
    pub drops: DropCounts,
    /// Expiries by timer.
    pub timers: PerTimer,
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.mib += other.mib;
        self.counters += other.counters;
        self.packets_out += other.packets_out;
        self.packets_in += other.packets_in;
        let codes = self.rx_dropped.iter_mut().zip(other.rx_dropped);
        codes.for_each(|(a, b)| *a += b);
        self.drop_codes_out += other.drop_codes_out;
        self.drops += other.drops;
        self.timers += other.timers;
    }
}

#[cfg(test)]
mod tests;
