//! Answers the library's requests.

mod info;
mod listen;
mod requests;

use super::Host;
use super::connection::reply;
use crate::unix::{self, wait_for_hangup};
use core::time::Duration;
use dccp::clock;
use dccprun_message::{Answer, MESSAGE_MAX, Request, Role};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Connections whose request has not arrived, at most; the oldest is dropped.
const WAITING_MAX: usize = 256;
/// Connections that one turn accepts.
const ACCEPT_MAX: usize = 64;
/// Between two looks for sockets that the program has closed.
const SWEEP: Duration = Duration::from_secs(1);

/// Answers requests until `stopped` is closed.
pub(super) fn serve(host: &Arc<Host>, requests: &OwnedFd, stopped: &OwnedFd) {
    let mut waiting = VecDeque::new();
    let mut swept = clock::now();
    loop {
        let (is_stopped, ready) = wait(host, requests, stopped, &waiting);
        if is_stopped {
            return;
        }
        if clock::now() - swept >= SWEEP {
            sweep(host);
            swept = clock::now();
        }
        take_data(host);
        take_requests(host, requests, &mut waiting);
        let mut channels = core::mem::take(&mut waiting);
        for (index, channel) in channels.drain(..).enumerate() {
            // Those that have just connected are looked at without waiting.
            if ready.get(index).copied().unwrap_or(true) {
                if let Some(channel) = answer(host, channel) {
                    waiting.push_back(channel);
                }
            } else {
                waiting.push_back(channel);
            }
        }
    }
}

/// Waits for work, at most a second while there are sockets. Returns whether to stop, and which channels have a request.
fn wait(
    host: &Host,
    requests: &OwnedFd,
    stopped: &OwnedFd,
    waiting: &VecDeque<OwnedFd>,
) -> (bool, Vec<bool>) {
    let sockets = [stopped, requests, &host.data].into_iter().chain(waiting);
    let mut polled: Vec<PollFd<'_>> = sockets.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let timeout = (host.table().len() > 0).then_some(&Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    });
    match poll(&mut polled, timeout) {
        Ok(_) => {
            let each = polled.iter().map(|fd| !fd.revents().is_empty());
            let each: Vec<bool> = each.collect();
            let is_stopped = each.first().copied().unwrap_or(true);
            (is_stopped, each.get(3..).unwrap_or_default().to_vec())
        }
        Err(error) => {
            if error != Errno::INTR {
                // The system lacks memory.
                std::thread::sleep(Duration::from_millis(10));
            }
            (false, vec![false; waiting.len()])
        }
    }
}

/// Accepts the program's ends of connections, each before its request.
fn take_data(host: &Host) {
    for _ in 0..ACCEPT_MAX {
        match unix::accept(&host.data, host.key) {
            Ok((socket, Some(Role::Socket(key)))) if host.trusts(&socket) => {
                host.table().arrive(key, socket);
            }
            Ok(_) => {}
            Err(error) => return pause_unless_empty(error),
        }
    }
}

/// Accepts connections for requests.
fn take_requests(host: &Host, requests: &OwnedFd, waiting: &mut VecDeque<OwnedFd>) {
    for _ in 0..ACCEPT_MAX {
        match unix::accept(requests, host.key) {
            Ok((channel, _)) if host.trusts(&channel) => {
                if waiting.len() >= WAITING_MAX {
                    waiting.pop_front();
                }
                waiting.push_back(channel);
            }
            Ok(_) => {}
            Err(error) => return pause_unless_empty(error),
        }
    }
}

/// Without descriptors the sockets stay readable.
fn pause_unless_empty(error: Errno) {
    if !matches!(error, Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Answers the request of a channel, if it has arrived. Returns the channel if it has not.
fn answer(host: &Arc<Host>, channel: OwnedFd) -> Option<OwnedFd> {
    let mut buffer = [0; MESSAGE_MAX + 1];
    let len = match rustix::net::recv(&channel, &mut buffer, RecvFlags::DONTWAIT) {
        Ok((len, _)) => len,
        Err(Errno::AGAIN | Errno::INTR) => return Some(channel),
        Err(_) => return None,
    };
    let message = buffer.get(..len).unwrap_or_default();
    // Without a request, the program has closed the channel, or it is no library of ours.
    let request = Request::parse(message)?;
    if let Some((channel, result)) = host.perform(&request, channel) {
        // The program may have gone.
        let _ = reply(&channel, &result.unwrap_or_else(Answer::error));
    }
    None
}

/// Forgets sockets that the program has closed.
fn sweep(host: &Host) {
    let resting = host.table().resting();
    for key in resting {
        if !host.is_alive(key) {
            host.table().remove(key);
        }
    }
    let mut table = host.table();
    table.drop_arrived(|socket| wait_for_hangup(socket, Some(Duration::ZERO)));
}
