//! The files of the checkout.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dccp_dev::shell;

/// A text file of the project.
pub(crate) struct File {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    syntax: OnceCell<Option<syn::File>>,
}

impl File {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            syntax: OnceCell::new(),
        }
    }

    /// Whether the whole file is test code: `tests.rs`, or anything below a folder `tests`.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    pub(crate) fn is_rust(&self) -> bool {
        has_extension(&self.path, "rs")
    }

    /// Its syntax; `None` if it is no Rust file, or does not parse.
    pub(crate) fn syntax(&self) -> Option<&syn::File> {
        let parse = || {
            let is_rust = self.is_rust();
            is_rust.then(|| syn::parse_file(&self.text).ok()).flatten()
        };
        self.syntax.get_or_init(parse).as_ref()
    }
}

/// The folder of the workspace.
pub(crate) fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    Ok(root.context("xtask is a folder of the workspace")?.into())
}

/// Every text file that is in git or about to be, except those that `.gitignore` names.
pub(crate) fn files() -> Result<Vec<File>> {
    let list = "git ls-files -z --cached --others --exclude-standard";
    let list = shell::output(&mut shell::command_line(list))?;
    let files = list.split_terminator('\0').filter_map(|path| {
        // Fails for captures and corpora, which are not UTF-8, and for deleted files.
        let text = std::fs::read_to_string(path).ok()?;
        Some(File::new(path, text))
    });
    Ok(files.collect())
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}
