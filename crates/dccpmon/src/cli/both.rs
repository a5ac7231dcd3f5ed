//! Both ends send.

use super::Bulk;
use super::values::ccid;
use crate::schema::Transport;
use crate::wire::message::{connection_of, connections};
use clap::Args;
use dccp_cli::Failure;

#[derive(Args, Debug)]
pub(crate) struct BothWords {
    /// Both ends send, each in as many flows as -P says
    #[arg(long, conflicts_with = "reverse")]
    pub(crate) bidir: bool,
    /// With --bidir: one flow of each end shares a connection, as the two half-connections of DCCP or the two directions
    /// of TCP [default: each flow has a connection of its own]
    #[arg(long)]
    pub(crate) one_connection: bool,
    /// With --bidir: congestion control of DCCP for the flows of the server [default: that of --ccid]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ccid)]
    pub(crate) server_ccid: Option<u8>,
}

impl BothWords {
    /// Checks that the options fit together.
    pub(crate) fn check(&self, transport: Transport, has_echoes: bool) -> Result<(), Failure> {
        let refuse = |problem: &str, next: &str| Err(Failure::usage(problem, next));
        match (self.one_connection, self.server_ccid) {
            (true, _) if !self.bidir => refuse(
                "--one-connection: only one end sends",
                "add --bidir, or leave --one-connection out",
            ),
            (true, _) if transport == Transport::Udp => refuse(
                "--one-connection: UDP has no connections",
                "leave --one-connection out, or choose --transport dccp or tcp",
            ),
            (true, _) if has_echoes => refuse(
                "--one-connection: echoes would wait behind the data of their direction",
                "leave --one-connection out, or run `dccpmon bulk` without --echo",
            ),
            (_, Some(_)) if !self.bidir => refuse(
                "--server-ccid: without --bidir all flows have one sender",
                "write --ccid, or add --bidir",
            ),
            (_, Some(_)) if transport != Transport::Dccp => Err(Failure::usage(
                format!("--server-ccid: {transport} has no congestion control of DCCP"),
                "leave --server-ccid out, or choose --transport dccp",
            )),
            _ => Ok(()),
        }
    }
}

impl Bulk {
    /// The data connections of the test.
    pub(crate) fn connections(&self) -> u32 {
        connections(self.is_one_connection, self.flows)
    }

    /// The connection that carries `flow`. Both count from 0.
    pub(crate) fn connection_of(&self, flow: u32) -> u32 {
        connection_of(self.is_one_connection, self.flows, flow)
    }
}
