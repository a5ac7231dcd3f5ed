//! Messages and packet heads that the two ends exchange.

pub(crate) mod auth;
pub(crate) mod channel;
pub(crate) mod figures;
pub(crate) mod hello;
mod lost;
pub(crate) mod message;
pub(crate) mod packet;
pub(crate) mod parts;
pub(crate) mod pieces;
mod timing;
