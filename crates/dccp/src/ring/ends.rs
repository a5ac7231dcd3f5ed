//! The application's two ends of a ring: each may wait by itself.

use super::fate::RingFate;
use super::inbox::delivery;
use super::parker::Ear;
use crate::clock;
use crate::error::{RecvError, SendError};
#[cfg(feature = "tokio")]
use crate::patience::Side;
use crate::recv_buffer::RecvMeta;
#[cfg(feature = "tokio")]
use crate::shared::SocketState;
use crate::socket::Socket;
use dccp_ring::{Receiver, Sender};
use std::net::Shutdown;
use std::sync::Arc;

/// Sends datagrams and receives their fates.
#[derive(Debug)]
pub(crate) struct SendEnd {
    socket: Arc<Socket>,
    sender: Sender,
    pub(crate) ear: Ear,
}

/// Receives datagrams. Dropping it signals to the peer that its data are no longer read.
#[derive(Debug)]
pub(crate) struct RecvEnd {
    socket: Arc<Socket>,
    receiver: Receiver,
    pub(crate) ear: Ear,
}

impl SendEnd {
    pub(crate) fn new(socket: Arc<Socket>, sender: Sender, ear: Ear) -> Self {
        Self {
            socket,
            sender,
            ear,
        }
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn sender(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// Whether there is room, or why there will be none. Otherwise the bell rings when this changes.
    pub(crate) fn try_room(&mut self) -> Option<Result<(), SendError>> {
        let over = self.socket.shared().lock().sending_over();
        if let Some(error) = over {
            return Some(Err(error));
        }
        let has_room = self.sender.prepare_to_wait_for_room() == Ok(false);
        has_room.then_some(Ok(()))
    }

    /// Whether there are fates, or never will be. Otherwise the bell rings when this changes.
    pub(crate) fn try_fates(&mut self) -> Option<bool> {
        // Checked first: a connection that has ended has reported all fates.
        let is_ended = self.sweep_if_ended();
        let has_fates = self.sender.prepare_to_wait_for_fates() == Ok(false);
        (has_fates || is_ended).then_some(has_fates)
    }

    /// Appends the fates that are known to `fates`, at most `at_most`.
    pub(crate) fn take_fates(&mut self, fates: &mut Vec<RingFate>, at_most: usize) {
        self.sweep_if_ended();
        let each = |report| fates.extend(RingFate::of(report));
        let heard = self.sender.fates(at_most, each);
        debug_assert!(heard.is_ok(), "the engine keeps the rules");
    }

    /// Withdraws datagrams that were pushed after the connection's end, or were being changed at that moment. Returns whether the connection has ended.
    fn sweep_if_ended(&self) -> bool {
        let mut state = self.socket.shared().lock();
        let is_ended = state.is_ended();
        if is_ended && let Some(ring) = &mut state.ring {
            ring.end(clock::now());
        }
        is_ended
    }
}

impl RecvEnd {
    pub(crate) fn new(socket: Arc<Socket>, receiver: Receiver, ear: Ear) -> Self {
        Self {
            socket,
            receiver,
            ear,
        }
    }

    /// The next datagram, or why there will be none. Otherwise the bell rings when this changes.
    pub(crate) fn try_recv(&mut self, buf: &mut [u8]) -> Option<Result<RecvMeta, RecvError>> {
        // Asked first: what is over has brought everything.
        let over = self.socket.shared().lock().recv_over();
        let is_empty = self.receiver.prepare_to_sleep();
        if is_empty != Ok(true)
            && let Some(found) = self.take(buf)
        {
            return Some(Ok(found));
        }
        over.map(Err)
    }

    /// The next datagram, if there is one.
    pub(crate) fn take(&mut self, buf: &mut [u8]) -> Option<RecvMeta> {
        let found = self.receiver.recv(buf);
        debug_assert!(found.is_ok(), "the engine keeps the rules");
        let (len, arrival) = found.ok()??;
        Some(RecvMeta::new(len, buf.len(), delivery(arrival)))
    }
}

impl Drop for RecvEnd {
    fn drop(&mut self) {
        self.socket.shutdown(Shutdown::Read);
    }
}

/// Waiting as a task: until the bell rings, or there is nothing to wait for.
#[cfg(feature = "tokio")]
impl SendEnd {
    /// For room.
    pub(crate) async fn room_rung(&mut self) {
        let is_over = |state: &SocketState| state.sending_over().is_some();
        rung(&self.socket, &mut self.ear, Side::Send, is_over).await;
    }

    /// For fates.
    pub(crate) async fn fates_rung(&mut self) {
        rung(
            &self.socket,
            &mut self.ear,
            Side::Recv,
            SocketState::is_ended,
        )
        .await;
    }
}

#[cfg(feature = "tokio")]
impl RecvEnd {
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// For a datagram.
    pub(crate) async fn recv_rung(&mut self) {
        let is_over = |state: &SocketState| state.recv_over().is_some();
        rung(&self.socket, &mut self.ear, Side::Recv, is_over).await;
    }
}

#[cfg(feature = "tokio")]
async fn rung(socket: &Socket, ear: &mut Ear, side: Side, is_over: impl Fn(&SocketState) -> bool) {
    let is_rung = |state: &mut SocketState| (ear.hears() || is_over(state)).then_some(());
    socket.shared().until(side, is_rung).await;
}
