//! Programs for the kernel's DCCP, run by `dccprun` on loopback.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod calls;
mod commands;
mod daemon;
mod jobs;
mod kernel_program;
mod launch;
mod queues;
mod robust;
mod support;
