//! `cargo xtask dist`: packages of dccpmon with a static binary, for Linux on x86-64.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use dccp_dev::packages;
use dccp_dev::shell::{self, command, command_line};

/// The C library of this target is linked into the binary.
const TARGET: &str = "x86_64-unknown-linux-musl";
const ARCHITECTURE: &str = "amd64";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
const FOLDER: &str = "target/dist";
const SUMS: &str = "SHA256SUMS";

/// Files of the packages: place in the repository, place below the root of a host.
const FILES: &[(&str, &str)] = &[
    ("README.md", "usr/share/doc/dccpmon/README.md"),
    ("CHANGELOG.md", "usr/share/doc/dccpmon/CHANGELOG.md"),
    ("LICENSE-MIT", "usr/share/doc/dccpmon/LICENSE-MIT"),
    ("LICENSE-APACHE", "usr/share/doc/dccpmon/LICENSE-APACHE"),
    (
        "contrib/wireshark/dccp-udp.lua",
        "usr/share/doc/dccpmon/examples/dccp-udp.lua",
    ),
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
    /// Install the package below an empty folder, run the program there, remove the package (needs root)
    #[arg(long)]
    check: bool,
}

/// Builds the packages. Returns whether the checks succeeded.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let binary = build(args.quick)?;
    let root = stage(&binary)?;
    let packages = [debian_package(&root)?, archive(&root)?];
    let sums = checksums(&packages)?;
    if args.check {
        check_sums()?;
        check_package(&packages[0])?;
    }
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
    let profile = if is_quick {
        for setting in ["opt-level=0", "debug=false"] {
            cargo.args(["--config", &format!("profile.dev.{setting}")]);
        }
        "debug"
    } else {
        cargo.args([
            "--release",
            "--config",
            "profile.release.strip=\"debuginfo\"",
        ]);
        "release"
    };
    shell::run(&mut cargo)?;
    let metadata = shell::output(&mut command_line(
        "cargo metadata --locked --no-deps --format-version 1",
    ))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"].as_str();
    let target = target.context("cargo metadata: target_directory is missing")?;
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
    write_pages(&program, &root.join(PAGES))?;
    for (shell, to) in COMPLETIONS {
        let script = shell::output(command(&[&program]).args(["completions", shell]))?;
        write(&root.join(to), &script)?;
    }
    shell::output(command(&["chmod", "-R", "u=rwX,go=rX"]).arg(&root))?;
    Ok(root)
}

/// Lets the program write its manual pages, compressed as Debian wants them.
fn write_pages(program: &Path, folder: &Path) -> Result<()> {
    shell::output(command(&[program]).arg("man").arg(folder))?;
    let mut gzip = command_line("gzip -9n");
    for page in fs::read_dir(folder)? {
        gzip.arg(page?.path());
    }
    shell::output(&mut gzip)?;
    Ok(())
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

fn debian_package(root: &Path) -> Result<PathBuf> {
    let kib: u64 = shell::output(command(&["du", "-sk"]).arg(root))?
        .split_whitespace()
        .next()
        .context("du: no number")?
        .parse()?;
    let control = format!(
        "Package: dccpmon
Version: {VERSION}
Architecture: {ARCHITECTURE}
Maintainer: usrdccp ({REPOSITORY})
Installed-Size: {kib}
Section: net
Priority: optional
Homepage: {REPOSITORY}
Description: measures network paths with DCCP
 dccpmon measures throughput, delay and loss between two hosts, and states where
 packets were lost and what limited the run.
"
    );
    let folder = root.join("DEBIAN");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("control"), control)?;
    let package = Path::new(FOLDER).join(format!("dccpmon_{VERSION}_{ARCHITECTURE}.deb"));
    let mut dpkg_deb = command_line("dpkg-deb --root-owner-group --build");
    // The same sources make the same package.
    dpkg_deb.env("SOURCE_DATE_EPOCH", "0");
    shell::output(dpkg_deb.arg(root).arg(&package))?;
    fs::remove_dir_all(folder)?;
    Ok(package)
}

/// Packs the same files for other distributions, below one folder.
fn archive(root: &Path) -> Result<PathBuf> {
    let name = format!("dccpmon-{VERSION}-x86_64-linux");
    let package = Path::new(FOLDER).join(format!("{name}.tar.gz"));
    let mut tar = command_line("tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner");
    tar.args(["--use-compress-program", "gzip -n"]);
    tar.args(["--transform", &format!("s,^[.]/usr,{name},")]);
    tar.arg("-cf").arg(std::path::absolute(&package)?);
    shell::output(tar.arg("-C").arg(root).arg("./usr"))?;
    Ok(package)
}

/// Writes the checksums and returns them.
fn checksums(packages: &[PathBuf]) -> Result<String> {
    let mut sha256sum = command(&["sha256sum"]);
    sha256sum.current_dir(FOLDER);
    sha256sum.args(packages.iter().filter_map(|package| package.file_name()));
    let sums = shell::output(&mut sha256sum)?;
    fs::write(Path::new(FOLDER).join(SUMS), &sums)?;
    Ok(sums)
}

fn check_sums() -> Result<()> {
    let mut check = command(&["sha256sum", "--check", "--quiet", SUMS]);
    shell::output(check.current_dir(FOLDER))?;
    Ok(())
}

/// Installs the package below an empty folder, where no library is, and removes it again.
fn check_package(package: &Path) -> Result<()> {
    ensure!(
        shell::is_root(),
        "--check: needs root, because it uses chroot"
    );
    let host = Path::new(FOLDER).join("host");
    let state = host.join("var/lib/dpkg");
    for folder in ["info", "updates"] {
        fs::create_dir_all(state.join(folder))?;
    }
    fs::write(state.join("status"), "")?;
    let host = fs::canonicalize(host)?;
    // It starts no program of the host, so the host may lack them.
    let dpkg = |words: &[&str]| {
        let mut dpkg = command_line("dpkg --force-not-root --force-bad-path --log=/dev/null");
        dpkg.arg(format!("--root={}", host.display()));
        dpkg.args(words);
        dpkg
    };
    let package = fs::canonicalize(package)?;
    shell::output(dpkg(&["-i"]).arg(package))?;
    let mut version = command(&["chroot"]);
    let said = shell::output(version.arg(&host).args(["/usr/bin/dccpmon", "--version"]))?;
    if said.trim() != format!("dccpmon {VERSION}") {
        bail!(
            "dccpmon --version: {}: must be dccpmon {VERSION}",
            said.trim()
        );
    }
    let page = format!("{PAGES}/dccpmon-bulk.1.gz");
    let files = FILES.iter().chain(COMPLETIONS).map(|(_, file)| *file);
    for file in files.chain([page.as_str()]) {
        ensure!(host.join(file).is_file(), "{file}: must be installed");
    }
    shell::output(&mut dpkg(&["-P", "dccpmon"]))?;
    ensure!(
        !host.join("usr").exists(),
        "usr: must be removed with the package"
    );
    Ok(())
}
