//! Whole networks: endpoints, paths and peers, one file for each subject.

mod ack_vector;
mod aqm;
mod beside_tcp;
mod bit_errors;
mod close;
mod congestion;
mod data;
mod extremes;
mod fairness;
mod features;
mod handshake;
mod kernel_traces;
mod linux_profile;
mod lost_feedback;
mod machine;
mod rate_hint;
mod safeudp;
mod sequence;
mod slow_receiver;
mod small_packets;
mod tcp;
mod tshark;
mod udp;
mod wireshark;
