//! The program as its users run it, one file for each subject.

mod bench;
mod campaign;
mod effects;
mod errors;
mod kept;
mod media;
mod presets;
mod published;
mod reproduce;
mod runs;
