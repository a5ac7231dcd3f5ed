//! Datagrams that the host refused to send.
//!
//! If they are larger than its interface permits, that is as good as a router's message about one of them (4340-14.1-6).

use super::Port;
use crate::clock;
use dccp_io::{LocalDrop, LocalDropReason};
use dccp_proto::{IcmpError, IcmpKind};

impl Port {
    /// Counts them at their connection, and tells its congestion control.
    #[cold]
    pub(super) fn on_refused(&mut self, refused: LocalDrop) {
        if let Some(id) = self.sender {
            self.links.count_host_drops(id, refused);
        }
        if let Some((path, _)) = self.batch.destination() {
            let all = self.batch.datagrams().skip(refused.first);
            for datagram in all.take(refused.datagrams) {
                self.endpoint.on_send_failed(path, datagram.bytes);
            }
        }
        let LocalDropReason::TooBig { mtu: Some(mtu) } = refused.reason else {
            return;
        };
        let datagram = self.batch.datagrams().nth(refused.first);
        let (Some(datagram), Some((path, _))) = (datagram, self.batch.destination()) else {
            return;
        };
        let error = IcmpError {
            path: *path,
            quoted: datagram.bytes,
            kind: IcmpKind::TooBig {
                mtu: usize::try_from(mtu).unwrap_or(usize::MAX),
            },
        };
        self.endpoint
            .handle_icmp(clock::now(), &error, &mut self.links);
    }
}
