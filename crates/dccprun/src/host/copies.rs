//! Datagrams that are copied from a ring.

use super::errors;
use dccp_ring_ipc::RingClient;

/// Datagrams of one receive.
const BATCH: usize = 64;
/// The longest datagram in bytes: above what fits an Ethernet frame. A ring of the daemon then stays below 4 MiB, which
/// is what the daemon's policy allows by default.
pub(super) const SLOT_BYTES: u32 = 2048;

/// Memory for datagrams that are copied from a ring.
#[derive(Default)]
pub(super) struct Copies {
    bytes: Vec<u8>,
    lens: Vec<usize>,
}

impl Copies {
    /// Takes the datagrams that are in the ring.
    ///
    /// # Errors
    /// The error number of the connection's end, once no datagram is left; 0: an ordinary end.
    pub(super) fn fill(&mut self, client: &mut RingClient) -> Result<(), i32> {
        self.bytes.resize(BATCH * SLOT_BYTES as usize, 0);
        self.lens.clear();
        for room in self.bytes.chunks_exact_mut(SLOT_BYTES as usize) {
            match client.recv(room) {
                Ok(len) => self.lens.push(len),
                Err(error) if self.lens.is_empty() => return errors::of_ring(&error),
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// The datagrams that were taken last.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let rooms = self.bytes.chunks_exact(SLOT_BYTES as usize);
        rooms
            .zip(&self.lens)
            .filter_map(|(room, len)| room.get(..*len))
    }
}
