//! `dccpmon completions SHELL`: prints the script that completes command lines.

use crate::cli::command;
use clap_complete::Shell;
use dccp_cli::{Failure, exit, print};

/// Prints the script of a shell.
pub(crate) fn run(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "dccpmon", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(exit::DONE)
}
