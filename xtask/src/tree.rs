//! The files of the checkout.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use dccp_dev::shell;

/// A text file of the project.
pub(crate) struct File {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Whether the whole file is test code: `tests.rs`, or anything below a folder `tests`.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    pub(crate) fn is_rust(&self) -> bool {
        has_extension(&self.path, "rs")
    }
}

/// The folder of the workspace.
pub(crate) fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    Ok(root.context("xtask is a folder of the workspace")?.into())
}

/// Every text file that is in git or about to be; not what `.gitignore` names.
pub(crate) fn files() -> Result<Vec<File>> {
    let git = [
        "git",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let list = shell::output(&mut shell::command(&git))?;
    let files = list.split_terminator('\0').filter_map(|path| {
        // Not UTF-8 (captures, corpus), or deleted and not yet committed: nothing to read.
        let text = std::fs::read_to_string(path).ok()?;
        Some(File {
            path: path.into(),
            text,
        })
    });
    Ok(files.collect())
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}
