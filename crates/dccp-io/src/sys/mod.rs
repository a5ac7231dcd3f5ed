//! System calls of Linux that no safe crate offers: the crate's only `unsafe`.

pub(crate) mod cmsg;
pub(crate) mod error_queue;
pub(crate) mod fork;
pub(crate) mod limits;
pub(crate) mod mmsg;
pub(crate) mod schedule;
pub(crate) mod seqpacket;
pub(crate) mod sockopt;
