//! CCID 248, SafeUDP, through real packets: what `docs/safeudp.md` promises.

mod beside;
mod clean;
mod hosts;
mod negotiation;
mod net;
mod path;
mod pinned;
