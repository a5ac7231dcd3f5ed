//! The fuzzer's bytes as decisions.

use dccp_proto::Config;
use dccp_proto::wire::ServiceCode;
use std::time::Duration;

/// The Service Code of all connections.
pub(super) const SERVICE: ServiceCode = ServiceCode::from_ascii(*b"FUZZ");

/// Bytes that are read one by one; zeros when they are used up.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    /// A number below `n`, which is at most 256.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub(super) fn number(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |n, _| n << 8 | u64::from(self.byte()))
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// At most `n` bytes.
    pub(super) fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Valid settings.
    pub(super) fn config(&mut self) -> Config {
        let ccids = [&[2][..], &[3], &[2, 3], &[3, 2]];
        let switches = self.number(2);
        let is_set = |bit: u32| switches >> bit & 1 == 1;
        let mut config = Config {
            tx_ccids: self.pick(&ccids).to_vec(),
            rx_ccids: self.pick(&ccids).to_vec(),
            service_code: SERVICE,
            short_seqnos: is_set(0),
            data_checksum: is_set(1),
            deliver_corrupt: is_set(2),
            ndp_count: is_set(3),
            ecn: !is_set(4),
            pacing: !is_set(5),
            strict: is_set(6),
            timestamps: is_set(7),
            probe_pmtu: !is_set(8),
            adapt_sequence_window: !is_set(9),
            ..Config::default()
        };
        if is_set(10) {
            self.odd_settings(&mut config);
        }
        config
    }

    /// Rare settings.
    fn odd_settings(&mut self, config: &mut Config) {
        const MS: Duration = Duration::from_millis(1);
        config.sequence_window = self.pick(&[32, 33, 100, 1000, 1 << 17, (1 << 46) - 1]);
        config.ack_ratio = self.pick(&[None, Some(0), Some(1), Some(5), Some(u16::MAX)]);
        (config.send_cscov, config.min_cscov) = (self.pick(&[0, 1, 2, 15]), self.pick(&[0, 1, 15]));
        config.mtu = self.pick(&[1500, 576, 1280, 9000, 65_535]);
        config.cookie_threshold = self.pick(&[0, 1, 256]);
        config.keepalive = self.pick(&[None, Some(MS), Some(15_000 * MS)]);
        config.msl = self.pick(&[120_000, 1, 1000]) * MS;
        config.rto_min = self.pick(&[200, 0, 1000]) * MS;
        config.delayed_ack = self.pick(&[200, 0, 10]) * MS;
        config.granularity = self.pick(&[Duration::ZERO, MS, 10 * MS]);
        config.connect_timeout = self.pick(&[180_000, 1, 5000]) * MS;
    }
}
