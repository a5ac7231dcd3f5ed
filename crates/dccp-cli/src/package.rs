//! Manual pages and completions, which belong to a package of a program.

use crate::{Failure, exit, print};
pub use clap_complete::Shell;
use std::path::Path;

/// Writes a manual page for the program and one for each subcommand.
///
/// # Errors
/// A page cannot be written.
pub fn man(command: clap::Command, folder: &Path) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .map_err(|e| Failure::write(folder, &e))?;
    Ok(exit::DONE)
}

/// Prints the script that completes command lines in a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(mut command: clap::Command, shell: Shell) -> Result<u8, Failure> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(exit::DONE)
}
