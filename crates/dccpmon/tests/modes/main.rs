//! Subcommands beside `bulk` and `serve`, run as programs.

mod pages;
