//! Feature negotiation as Linux 6.1 does it: in the handshake, and for numbers (Sequence Window,
//! Ack Ratio) while open.
//!
//! Entries are sorted by feature number, then by registration. Options are written in that order.

use dccp_proto::wire::{FeatureOpt, Opt, ResetCode};

pub(super) const CCID: u8 = 1;
pub(super) const SHORT_SEQNOS: u8 = 2;
pub(super) const SEQUENCE_WINDOW: u8 = 3;
pub(super) const ECN_INCAPABLE: u8 = 4;
pub(super) const ACK_RATIO: u8 = 5;
pub(super) const SEND_ACK_VECTOR: u8 = 6;
pub(super) const SEND_NDP_COUNT: u8 = 7;
pub(super) const MIN_CSCOV: u8 = 8;
pub(super) const SEND_LOSS_EVENT_RATE: u8 = 192;

/// Why a packet is answered by a Reset: code and data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub(super) code: u8,
    pub(super) data: [u8; 3],
}

impl Failure {
    pub(super) const fn of_code(code: ResetCode) -> Self {
        Self {
            code: code.0,
            data: [0; 3],
        }
    }

    pub(super) fn option_error(kind: u8, data: &[u8]) -> Self {
        Self::of(5, kind, data)
    }

    fn of(code: u8, kind: u8, data: &[u8]) -> Self {
        let byte = |n: usize| data.get(n).copied().unwrap_or(0);
        Self {
            code,
            data: [kind, byte(0), byte(1)],
        }
    }
}

/// The features of one socket.
#[derive(Clone, Debug)]
pub(super) struct Features {
    entries: Vec<Entry>,
    is_server: bool,
    /// Changes of numbers while open: feature and value, until confirmed.
    changes: Vec<(u8, u64)>,
    /// Confirms of the peer's, each for the next packet only.
    confirms: Vec<(u8, Vec<u8>)>,
}

#[derive(Clone, Debug)]
struct Entry {
    feature: u8,
    /// The feature is located here (L), not at the peer (R).
    is_local: bool,
    /// Preference list, or the bytes of a number.
    values: Vec<u8>,
    is_mandatory: bool,
    needs_change: bool,
    confirm: Confirm,
    /// The agreed value.
    chosen: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Confirm {
    No,
    Value,
    Empty,
}

/// A Change or Confirm of the peer.
#[derive(Clone, Copy)]
struct Incoming<'a> {
    kind: u8,
    /// About a feature that is located here.
    is_local: bool,
    option: FeatureOpt<'a>,
}

impl Features {
    /// The features that a socket announces: CCIDs by preference, no short sequence numbers, no ECN.
    pub(super) fn new(is_server: bool, config: &super::LinuxConfig) -> Self {
        let mut features = Self {
            entries: Vec::new(),
            is_server,
            changes: Vec::new(),
            confirms: Vec::new(),
        };
        features.register(CCID, true, &config.tx_ccids, false);
        features.register(CCID, false, &config.rx_ccids, false);
        features.register(SHORT_SEQNOS, true, &[0], true);
        if config.seq_window != 100 {
            let bytes = number(SEQUENCE_WINDOW, config.seq_window);
            features.register(SEQUENCE_WINDOW, true, &bytes, false);
        }
        features.register(ECN_INCAPABLE, true, &[1], true);
        if let Some(cscov) = config.cscov {
            let acceptable: Vec<u8> = (cscov..=15).collect();
            features.register(MIN_CSCOV, is_server, &acceptable, false);
        }
        // Features that depend on a CCID are announced only if there is no choice of it.
        if let ([tx], [rx]) = (&config.tx_ccids[..], &config.rx_ccids[..]) {
            features.register_for_sender(*tx);
            features.register_for_receiver(*rx);
        }
        features
    }

    fn register_for_sender(&mut self, ccid: u8) {
        if ccid == 3 {
            self.register(ACK_RATIO, true, &[0, 0], false);
            self.register(SEND_ACK_VECTOR, false, &[0], false);
            self.register(SEND_NDP_COUNT, true, &[1], false);
            self.register(SEND_LOSS_EVENT_RATE, false, &[1], true);
        } else {
            self.register(SEND_ACK_VECTOR, false, &[1], true);
        }
    }

    fn register_for_receiver(&mut self, ccid: u8) {
        if ccid == 3 {
            self.register(SEND_ACK_VECTOR, true, &[0], false);
            self.register(SEND_NDP_COUNT, false, &[1], true);
            self.register(SEND_LOSS_EVENT_RATE, true, &[1], true);
        } else {
            self.register(SEND_ACK_VECTOR, true, &[1], true);
        }
    }

    /// The server knows the CCIDs once it has read the Request, and asks for what they need,
    /// instead of confirming what the client asked for the same feature.
    pub(super) fn resolve_dependencies(&mut self) {
        let (rx, tx) = (self.ccid(false), self.ccid(true));
        self.register_for_receiver(rx);
        self.register_for_sender(tx);
    }

    fn register(&mut self, feature: u8, is_local: bool, values: &[u8], is_mandatory: bool) {
        let entry = self.entry(feature, is_local);
        entry.values = values.to_vec();
        entry.is_mandatory = is_mandatory;
        entry.needs_change = true;
        entry.confirm = Confirm::No;
    }

    fn find(&self, feature: u8, is_local: bool) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|e| e.feature == feature && e.is_local == is_local)
    }

    fn entry(&mut self, feature: u8, is_local: bool) -> &mut Entry {
        let found = self
            .entries
            .iter()
            .position(|e| e.feature == feature && e.is_local == is_local);
        let place = found.unwrap_or_else(|| {
            let place = self.entries.partition_point(|e| e.feature <= feature);
            let entry = Entry {
                feature,
                is_local,
                values: Vec::new(),
                is_mandatory: false,
                needs_change: false,
                confirm: Confirm::No,
                chosen: None,
            };
            self.entries.insert(place, entry);
            place
        });
        &mut self.entries[place]
    }

    /// The agreed value of a feature, or its initial one.
    pub(super) fn value(&self, feature: u8, is_local: bool) -> u64 {
        let chosen = self.find(feature, is_local).and_then(|e| e.chosen);
        chosen.unwrap_or(match feature {
            CCID | ACK_RATIO => 2,
            SEQUENCE_WINDOW => 100,
            _ => 0,
        })
    }

    pub(super) fn ccid(&self, is_local: bool) -> u8 {
        if self.value(CCID, is_local) == 3 {
            3
        } else {
            2
        }
    }

    /// The server takes what it has decided itself for agreed, as soon as it has sent it.
    pub(super) fn assume_agreement(&mut self) {
        for entry in &mut self.entries {
            entry.chosen = entry.chosen.or(match *entry.values {
                [value] => Some(value.into()),
                [high, low] if entry.feature == ACK_RATIO => {
                    Some(u16::from_be_bytes([high, low]).into())
                }
                _ => None,
            });
        }
    }

    /// Whether the peer has answered every Change.
    pub(super) fn are_confirmed(&self) -> bool {
        self.entries.iter().all(|entry| !entry.needs_change)
    }

    /// The handshake is over: nothing is repeated any more.
    pub(super) fn settle(&mut self) {
        for entry in &mut self.entries {
            entry.needs_change = false;
            entry.confirm = Confirm::No;
        }
    }

    /// Takes a feature option of a handshake packet.
    pub(super) fn on_option(
        &mut self,
        option: &Opt<'_>,
        is_mandatory: bool,
    ) -> Result<(), Failure> {
        let incoming = |kind, is_local, option| Incoming {
            kind,
            is_local,
            option,
        };
        match *option {
            Opt::ChangeL(f) => self.on_change(incoming(32, false, f), is_mandatory),
            Opt::ChangeR(f) => self.on_change(incoming(34, true, f), is_mandatory),
            Opt::ConfirmL(f) => self.on_confirm(incoming(33, false, f)),
            Opt::ConfirmR(f) => self.on_confirm(incoming(35, true, f)),
            _ => Ok(()),
        }
    }

    fn on_change(&mut self, incoming: Incoming<'_>, is_mandatory: bool) -> Result<(), Failure> {
        let FeatureOpt { feature, values } = incoming.option;
        let failure = |code| {
            let mut data = vec![feature];
            data.extend_from_slice(values);
            Failure::of(code, incoming.kind, &data)
        };
        if !is_known(feature) {
            if is_mandatory {
                return Err(failure(6));
            }
            self.entry(feature, incoming.is_local).confirm = Confirm::Empty;
            return Ok(());
        }
        let is_server = self.is_server;
        if is_number(feature) {
            // 4340-6.3.2-2
            if incoming.is_local || values.len() != number(feature, 0).len() {
                return if is_mandatory {
                    Err(failure(6))
                } else {
                    Ok(())
                };
            }
            let entry = self.entry(feature, incoming.is_local);
            entry.values = values.to_vec();
            entry.chosen = Some(read_number(values));
            entry.confirm = Confirm::Value;
            return Ok(());
        }
        let entry = self.entry(feature, incoming.is_local);
        if entry.values.is_empty() {
            // Nothing is registered: any value is as good as another.
            entry.values = values.first().copied().into_iter().collect();
            if feature == CCID && !matches!(entry.values[..], [2 | 3]) {
                return Err(failure(5));
            }
        }
        match reconcile(&entry.values, values, is_server) {
            Some(value) => {
                entry.chosen = Some(value.into());
                entry.confirm = Confirm::Value;
            }
            // LINUX-6
            None if is_mandatory => return Err(failure(6)),
            None if entry.values.contains(&default(feature)) => entry.confirm = Confirm::Empty,
            None => return Err(failure(5)),
        }
        entry.needs_change = false;
        Ok(())
    }

    fn on_confirm(&mut self, incoming: Incoming<'_>) -> Result<(), Failure> {
        let FeatureOpt { feature, values } = incoming.option;
        // LINUX-5: Confirms of numbers are matched by their value.
        let value = read_number(values);
        let is_server = self.is_server;
        if incoming.is_local && is_number(feature) {
            self.changes.retain(|&change| change != (feature, value));
        }
        let entry = self.entry(feature, incoming.is_local);
        if !entry.needs_change {
            return Ok(());
        }
        entry.needs_change = false;
        if values.is_empty() {
            return Ok(());
        }
        let value = if is_number(feature) {
            value
        } else {
            values[0].into()
        };
        // LINUX-24: the list behind the value must lead to it.
        let theirs = values.get(1..).unwrap_or_default();
        let is_reconciled =
            theirs.is_empty() || reconcile(&entry.values, theirs, is_server) == Some(values[0]);
        let is_offered = entry.values.contains(&values[0]) && is_reconciled;
        let is_offered = is_number(feature) || is_offered;
        if !is_offered {
            let mut data = vec![feature];
            data.extend_from_slice(values);
            return Err(Failure::option_error(incoming.kind, &data));
        }
        entry.chosen = Some(value);
        Ok(())
    }

    /// Takes a feature option of a packet that is not of the handshake. Returns the number that the
    /// peer announced or confirmed: feature, whether it is located here, value.
    pub(super) fn on_open_option(&mut self, option: &Opt<'_>) -> Option<(u8, bool, u64)> {
        match *option {
            // LINUX-4: Changes of preferences are ignored now, without a Confirm.
            Opt::ChangeL(f) if is_number(f.feature) => {
                let value = read_number(f.values);
                self.entry(f.feature, false).chosen = Some(value);
                self.confirms.retain(|(feature, _)| *feature != f.feature);
                self.confirms.push((f.feature, f.values.to_vec()));
                Some((f.feature, false, value))
            }
            Opt::ConfirmR(f) if is_number(f.feature) => {
                let value = read_number(f.values);
                let waited = self.changes.len();
                self.changes.retain(|&change| change != (f.feature, value));
                (self.changes.len() < waited).then(|| {
                    self.entry(f.feature, true).chosen = Some(value);
                    (f.feature, true, value)
                })
            }
            _ => None,
        }
    }

    /// Announces a number, unless a change of this feature is already on its way.
    pub(super) fn change_number(&mut self, feature: u8, value: u64) {
        if self.changes.iter().all(|(f, _)| *f != feature) {
            self.changes.push((feature, value));
            self.changes.sort_unstable();
        }
    }

    /// Writes what the next packet has to carry. Confirms are left out of a Request, as is
    /// everything of Data packets by the caller.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        for entry in &self.entries {
            let kind = if entry.is_local { 32 } else { 34 };
            if entry.needs_change {
                if entry.is_mandatory {
                    out.push(1);
                }
                write_option(out, kind, entry.feature, &entry.values);
            }
            let mut confirmed = Vec::new();
            match entry.confirm {
                Confirm::No => continue,
                Confirm::Empty => {}
                Confirm::Value => {
                    if !is_number(entry.feature) {
                        confirmed.extend(entry.chosen.and_then(|v| u8::try_from(v).ok()));
                    }
                    confirmed.extend_from_slice(&entry.values);
                }
            }
            write_option(out, kind + 1, entry.feature, &confirmed);
        }
        for (feature, values) in core::mem::take(&mut self.confirms) {
            write_option(out, 35, feature, &values);
        }
        for &(feature, value) in &self.changes {
            write_option(out, 32, feature, &number(feature, value));
        }
    }
}

/// 4340-6.3.1-1: the first entry of the server's list that the client's list has too.
fn reconcile(ours: &[u8], theirs: &[u8], is_server: bool) -> Option<u8> {
    let (server, client) = if is_server {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    server.iter().copied().find(|v| client.contains(v))
}

const fn is_known(feature: u8) -> bool {
    matches!(feature, 1..=9 | SEND_LOSS_EVENT_RATE)
}

const fn is_number(feature: u8) -> bool {
    matches!(feature, SEQUENCE_WINDOW | ACK_RATIO)
}

const fn default(feature: u8) -> u8 {
    if feature == CCID { 2 } else { 0 }
}

/// The bytes of a number on the wire.
fn number(feature: u8, value: u64) -> Vec<u8> {
    let len = if feature == SEQUENCE_WINDOW { 6 } else { 2 };
    value.to_be_bytes()[8 - len..].to_vec()
}

fn read_number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b))
}

fn write_option(out: &mut Vec<u8>, kind: u8, feature: u8, values: &[u8]) {
    let len = u8::try_from(3 + values.len()).unwrap_or(u8::MAX);
    out.extend_from_slice(&[kind, len, feature]);
    out.extend_from_slice(values);
}
