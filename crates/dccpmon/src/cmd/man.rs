//! `dccpmon man FOLDER`: writes the manual pages.

use crate::cli::command;
use dccp_cli::{Failure, exit};
use std::path::Path;

/// Writes a page for the program and one for each subcommand.
pub(crate) fn run(folder: &Path) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command(), folder))
        .map_err(|e| Failure::write(folder, &e))?;
    Ok(exit::DONE)
}
