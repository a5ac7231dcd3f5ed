//! Python packages for tests, in a virtual environment below the build directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell::{self, command};

/// A set of packages with their versions, installed together.
pub struct Environment {
    /// The name of the environment.
    pub name: &'static str,
    /// Packages as `name==version`.
    pub packages: &'static [&'static str],
}

/// A browser driver, and the rules for accessible pages.
pub const BROWSER: Environment = Environment {
    name: "browser",
    packages: &["playwright==1.65.2", "axe-playwright-python==0.1.8"],
};

/// The builder of our own Python package, and what its tests need.
pub const PACKAGE: Environment = Environment {
    name: "package",
    packages: &[
        "distributed==2026.8.0",
        "ipykernel==7.4.0",
        "maturin==1.16.0",
        "mypy==2.4.1",
        "nbclient==0.11.0",
        "nbformat==5.11.1",
        "pandas==3.1.1",
        "polars==2.1.0",
        "pyarrow==26.0.1",
        "pytest==9.2.0",
    ],
};

impl Environment {
    /// Installs the packages, unless these versions are installed.
    ///
    /// # Errors
    /// There is no Python, or `pip` fails.
    pub fn install(&self) -> Result<()> {
        if self.python().is_some() {
            return Ok(());
        }
        let folder = self.folder()?;
        println!("Installing Python packages: {}", self.packages.join(" "));
        // A half-made one would not become whole.
        let _ = fs::remove_dir_all(&folder);
        shell::output(command(&["python3", "-m", "venv"]).arg(&folder))?;
        let quietly = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        let mut pip = command(&[python(&folder)]);
        shell::output(pip.args(quietly).args(self.packages))?;
        fs::write(list(&folder), self.packages.join("\n"))?;
        Ok(())
    }

    /// The interpreter that has the packages; `None` if they are not installed.
    pub fn python(&self) -> Option<PathBuf> {
        let folder = self.folder().ok()?;
        let installed = fs::read_to_string(list(&folder)).ok()?;
        (installed == self.packages.join("\n")).then(|| python(&folder))
    }

    fn folder(&self) -> Result<PathBuf> {
        Ok(build_folder()?.join(format!("python-{}", self.name)))
    }
}

fn python(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

/// The file that says what is installed.
fn list(folder: &Path) -> PathBuf {
    folder.join("packages.txt")
}

/// Cargo's build directory: this program is inside. Cargo marks the directory for backup programs.
fn build_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let mut folders = program.ancestors();
    let found = folders.find(|folder| folder.join("CACHEDIR.TAG").is_file());
    found
        .map(Path::to_owned)
        .context("this program is not in a build directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_that_is_not_there_has_no_interpreter() {
        let none = Environment {
            name: "none",
            packages: &["none==1"],
        };
        assert_eq!(none.python(), None);
        assert!(none.folder().unwrap().ends_with("python-none"));
    }
}
