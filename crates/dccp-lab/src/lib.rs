//! The lab, where measurements become tables and pictures. So far: the pictures.

pub mod plot;
