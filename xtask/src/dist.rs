//! `cargo xtask dist`: packages of dccpmon with a static binary, for Linux on x86-64.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use dccp_dev::packages;
use dccp_dev::shell::{self, command, command_line};

mod check;
mod debian;

/// The C library of this target is linked into the binary.
const TARGET: &str = "x86_64-unknown-linux-musl";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const FOLDER: &str = "target/dist";
const SUMS: &str = "SHA256SUMS";

/// Files of both packages: place in the repository, place below the root of a host.
const FILES: &[(&str, &str)] = &[
    (
        "contrib/systemd/dccpmon.service",
        "usr/lib/systemd/system/dccpmon.service",
    ),
    (
        "contrib/systemd/dccpmon.socket",
        "usr/lib/systemd/system/dccpmon.socket",
    ),
    ("README.md", "usr/share/doc/dccpmon/README.md"),
    (
        "docs/first-minute.md",
        "usr/share/doc/dccpmon/first-minute.md",
    ),
    (
        "contrib/wireshark/dccp-udp.lua",
        "usr/share/doc/dccpmon/examples/dccp-udp.lua",
    ),
    (
        "contrib/grafana/dccpmon.json",
        "usr/share/doc/dccpmon/examples/grafana.json",
    ),
];
/// Files of the archive. The Debian package has them in Debian's form.
const ARCHIVE_FILES: &[(&str, &str)] = &[
    ("CHANGELOG.md", "usr/share/doc/dccpmon/CHANGELOG.md"),
    ("LICENSE-MIT", "usr/share/doc/dccpmon/LICENSE-MIT"),
    ("LICENSE-APACHE", "usr/share/doc/dccpmon/LICENSE-APACHE"),
];
const BINARY: &str = "usr/bin/dccpmon";
const PAGES: &str = "usr/share/man/man1";
/// Shells, and where their packages look for completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/dccpmon"),
    ("zsh", "usr/share/zsh/vendor-completions/_dccpmon"),
    ("fish", "usr/share/fish/vendor_completions.d/dccpmon.fish"),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build without optimisation, to test the packages
    #[arg(long)]
    quick: bool,
    /// Install the package below an empty folder, measure with it there, remove it; run lintian (needs root)
    #[arg(long)]
    check: bool,
}

/// The packages, and the folder that stands for the root of a host.
struct Packages {
    debian: PathBuf,
    archive: PathBuf,
}

/// Builds the packages. Returns whether the checks succeeded.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let binary = build(args.quick)?;
    let root = stage(&binary)?;
    let pages = files_of(&root.join(PAGES))?;
    let packages = Packages {
        archive: archive(&root)?,
        debian: debian::package(&root)?,
    };
    let sums = checksums(&packages)?;
    if args.check {
        packages::install(packages::FOR_DIST)?;
        check::sums()?;
        check::archive(&packages.archive)?;
        check::package(&packages.debian, &pages)?;
        debian::lint(&packages.debian)?;
    }
    let bytes = fs::metadata(&binary)?.len();
    println!("{BINARY}: {} kB, static", bytes / 1000);
    print!("{sums}");
    Ok(true)
}

/// Builds the static binary and returns its place.
fn build(is_quick: bool) -> Result<PathBuf> {
    ensure!(
        packages::add_target(TARGET),
        "target {TARGET}: must be installed: rustup target add {TARGET}"
    );
    let mut cargo = command_line("cargo build --locked --quiet -p dccpmon --target");
    cargo.arg(TARGET);
    // A user needs neither symbols nor debug information: panics name file and line without them.
    let (profile, settings) = if is_quick {
        let settings: &[_] = &["opt-level=0", "debug=false", "strip=true"];
        ("dev", settings)
    } else {
        cargo.arg("--release");
        ("release", &["strip=true"][..])
    };
    for setting in settings {
        cargo.args(["--config", &format!("profile.{profile}.{setting}")]);
    }
    shell::run(&mut cargo)?;
    let metadata = shell::output(&mut command_line(
        "cargo metadata --locked --no-deps --format-version 1",
    ))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"].as_str();
    let target = target.context("cargo metadata: target_directory is missing")?;
    let profile = if is_quick { "debug" } else { "release" };
    Ok([target, TARGET, profile, "dccpmon"].iter().collect())
}

/// Lays out the files as on a host. Returns the folder that stands for its root.
fn stage(binary: &Path) -> Result<PathBuf> {
    let root = Path::new(FOLDER).join("root");
    let _ = fs::remove_dir_all(FOLDER);
    for (from, to) in FILES {
        install(Path::new(from), &root.join(to), "644")?;
    }
    let program = root.join(BINARY);
    install(binary, &program, "755")?;
    let pages = root.join(PAGES);
    shell::output(command(&[&program]).arg("man").arg(&pages))?;
    compress(&files_of(&pages)?)?;
    for (shell, to) in COMPLETIONS {
        let script = shell::output(command(&[&program]).args(["completions", shell]))?;
        write(&root.join(to), &script)?;
    }
    Ok(root)
}

/// The files of a folder, in the order of their names.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let files: Result<Vec<_>, _> = entries.map(|entry| entry.map(|e| e.path())).collect();
    let mut files = files?;
    files.sort();
    Ok(files)
}

/// Compresses files as Debian wants it: as far as possible, and without name and time.
fn compress(files: &[PathBuf]) -> Result<()> {
    shell::output(command_line("gzip -9n").args(files)).map(drop)
}

/// Writes a file and makes the folders above it.
fn write(to: &Path, text: &str) -> Result<()> {
    let folder = to.parent().context("a folder")?;
    fs::create_dir_all(folder)?;
    fs::write(to, text)?;
    Ok(())
}

fn install(from: &Path, to: &Path, mode: &str) -> Result<()> {
    let mut install = command(&["install", "-D", "-m", mode]);
    shell::output(install.arg(from).arg(to))?;
    Ok(())
}

/// Makes the modes of all files independent of the umask.
fn set_modes(root: &Path) -> Result<()> {
    shell::output(command(&["chmod", "-R", "u=rwX,go=rX"]).arg(root)).map(drop)
}

/// Packs the files for other distributions, below one folder.
fn archive(root: &Path) -> Result<PathBuf> {
    for (from, to) in ARCHIVE_FILES {
        install(Path::new(from), &root.join(to), "644")?;
    }
    set_modes(root)?;
    let name = archive_name();
    let package = Path::new(FOLDER).join(format!("{name}.tar.gz"));
    let mut tar = command_line("tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner");
    tar.args(["--use-compress-program", "gzip -n"]);
    tar.args(["--transform", &format!("s,^[.]/usr,{name},")]);
    tar.arg("-cf").arg(std::path::absolute(&package)?);
    shell::output(tar.arg("-C").arg(root).arg("./usr"))?;
    for (_, file) in ARCHIVE_FILES {
        fs::remove_file(root.join(file))?;
    }
    Ok(package)
}

/// The only folder in the archive.
fn archive_name() -> String {
    format!("dccpmon-{VERSION}-x86_64-linux")
}

/// Writes the checksums and returns them.
fn checksums(packages: &Packages) -> Result<String> {
    let mut sha256sum = command(&["sha256sum"]);
    sha256sum.current_dir(FOLDER);
    let packages = [&packages.debian, &packages.archive];
    sha256sum.args(packages.iter().filter_map(|package| package.file_name()));
    let sums = shell::output(&mut sha256sum)?;
    fs::write(Path::new(FOLDER).join(SUMS), &sums)?;
    Ok(sums)
}
