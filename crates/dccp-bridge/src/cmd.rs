//! Subcommands that write what belongs to a package.

use crate::cli::command;
use clap_complete::Shell;
use dccp_cli::{Failure, exit, print};
use std::path::Path;

/// Writes a manual page for the program and one for each subcommand.
pub(crate) fn man(folder: &Path) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command(), folder))
        .map_err(|e| Failure::write(folder, &e))?;
    Ok(exit::DONE)
}

/// Prints the script that completes command lines in a shell.
pub(crate) fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "dccp-bridge", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(exit::DONE)
}
