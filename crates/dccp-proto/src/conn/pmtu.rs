//! Path MTU.

use crate::cc::Feedback;
use crate::config::Config;
use crate::path::Path;
use crate::seq::Seq;
use crate::time::Instant;

#[derive(Clone, Debug)]
pub(crate) struct Pmtu {
    mtu: usize,
    headers: usize,
    changed: bool,
}

impl Pmtu {
    pub(crate) fn new(_now: Instant, path: &Path, config: &Config) -> Self {
        Self {
            mtu: config.mtu,
            headers: path.overhead() + 28,
            changed: false,
        }
    }
    pub(crate) fn mps(&self) -> usize {
        self.mtu - self.headers
    }
    pub(crate) fn pmtu(&self) -> usize {
        self.mtu
    }
    pub(crate) fn has_probe_due(&self) -> bool {
        false
    }
    pub(crate) fn poll_probe(&mut self, _now: Instant) -> Option<usize> {
        None
    }
    pub(crate) fn on_probe_sent(&mut self, _now: Instant, _seq: Seq, _size: usize) {}
    pub(crate) fn on_sync_acked(&mut self, _now: Instant, _ack: Seq) {}
    pub(crate) fn on_feedback(&mut self, _now: Instant, _fb: &Feedback<'_>) {}
    pub(crate) fn on_too_big(&mut self, _now: Instant, mtu: usize, is_plausible: bool) {
        if is_plausible && mtu < self.mtu && mtu > self.headers {
            self.mtu = mtu;
            self.changed = true;
        }
    }
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    pub(crate) fn on_timeout(&mut self, _now: Instant) {}
    pub(crate) fn poll_changed(&mut self) -> Option<usize> {
        core::mem::take(&mut self.changed).then(|| self.mps())
    }
}
