//! Checks of the packages: installed below an empty folder, where neither libraries nor other files are, they measure;
//! then they are removed without a trace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use dccp_dev::shell::{self, Background, command, command_line};

use super::{BINARY, COMPLETIONS, FILES, FOLDER, PAGES, SUMS, VERSION, archive_name};

/// Files of the Debian package alone.
const DEBIAN_FILES: [&str; 2] = [
    "usr/share/doc/dccpmon/copyright",
    "usr/share/doc/dccpmon/changelog.gz",
];

/// Compares the packages with their checksums.
pub(super) fn sums() -> Result<()> {
    let mut check = command(&["sha256sum", "--check", "--quiet", SUMS]);
    shell::output(check.current_dir(FOLDER))?;
    Ok(())
}

/// Unpacks the archive and runs the program in it.
pub(super) fn archive(package: &Path) -> Result<()> {
    let folder = Path::new(FOLDER).join("unpacked");
    fs::create_dir_all(&folder)?;
    let mut tar = command(&["tar", "-xf"]);
    shell::output(tar.arg(package).arg("-C").arg(&folder))?;
    let top = folder.join(archive_name());
    let version = shell::output(command(&[top.join("bin/dccpmon")]).arg("--version"))?;
    ensure_version(&version)?;
    for file in [
        "share/doc/dccpmon/LICENSE-MIT",
        "share/man/man1/dccpmon.1.gz",
    ] {
        ensure!(top.join(file).is_file(), "{file}: must be in the archive");
    }
    Ok(())
}

/// Installs the package below an empty folder, measures with it there, and removes it.
pub(super) fn package(package: &Path, pages: &[PathBuf]) -> Result<()> {
    ensure!(
        shell::is_root(),
        "--check: needs root, because it uses chroot and namespaces"
    );
    let host = empty_host()?;
    let before = tree_of(&host)?;
    let package = fs::canonicalize(package)?;
    shell::output(dpkg(&host).arg("-i").arg(package))?;

    let names = pages.iter().filter_map(|page| page.file_name()?.to_str());
    let pages: Vec<_> = names.map(|name| format!("{PAGES}/{name}")).collect();
    ensure!(
        pages.len() > 10,
        "{PAGES}: must have a page of each command"
    );
    let files = FILES.iter().chain(COMPLETIONS).map(|(_, file)| *file);
    let files = files.chain(pages.iter().map(String::as_str));
    for file in files.chain(DEBIAN_FILES) {
        ensure!(host.join(file).is_file(), "{file}: must be installed");
    }
    ensure!(
        !host.join("etc").exists(),
        "etc: the service must not be enabled"
    );
    measure(&host)?;

    shell::output(dpkg(&host).args(["-P", "dccpmon"]))?;
    let after = tree_of(&host)?;
    let left: Vec<_> = after.difference(&before).collect();
    ensure!(
        left.is_empty(),
        "{left:?}: must be removed with the package"
    );
    Ok(())
}

/// The root of a host without packages. It has a shell, because scripts of packages need one.
fn empty_host() -> Result<PathBuf> {
    let host = Path::new(FOLDER).join("host");
    for folder in ["bin", "var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(host.join(folder))?;
    }
    fs::write(host.join("var/lib/dpkg/status"), "")?;
    let busybox = shell::find_program("busybox").context("busybox: must be installed")?;
    fs::copy(busybox, host.join("bin/sh"))?;
    Ok(fs::canonicalize(host)?)
}

/// `dpkg` for this root. It starts no program of the host but the shell, so the host may lack them.
fn dpkg(host: &Path) -> std::process::Command {
    let mut dpkg = command_line("dpkg --force-not-root --force-bad-path --log=/dev/null");
    dpkg.arg(format!("--root={}", host.display()));
    dpkg
}

/// All files and folders below `host`, without dpkg's own.
fn tree_of(host: &Path) -> Result<BTreeSet<String>> {
    let mut find = command(&[
        "find",
        ".",
        "-path",
        "./var/lib/dpkg",
        "-prune",
        "-o",
        "-print",
    ]);
    let tree = shell::output(find.current_dir(host))?;
    Ok(tree.lines().map(str::to_owned).collect())
}

/// Enters a network of its own and the host's root, which cannot be written, without rights and without /proc and /etc.
const ENTER: &str = r#"
ip link set lo up
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
shift
exec "$@"
"#;

/// Runs a server and a client in the host.
fn measure(host: &Path) -> Result<()> {
    let user = ["chroot", "--userspec=65534:65534"];
    let program = format!("/{BINARY}");
    let mut server = command_line("unshare --net --mount sh -ec");
    server.arg(ENTER).arg("sh").arg(host).args(user).arg(host);
    server.arg(&program).args(["serve", "-1"]);
    let mut server = Background::start(server, "serving ")?;
    let [net, mount] = ["net", "mnt"].map(|kind| format!("/proc/{}/ns/{kind}", server.id()));
    let inside = |words: &[&str]| {
        let mut command = command_line("nsenter");
        command.arg(format!("--net={net}"));
        command.arg(format!("--mount={mount}"));
        command.args(user).arg(host).arg(&program).args(words);
        shell::output(&mut command)
    };
    ensure_version(&inside(&["--version"])?)?;
    let result = inside(&["127.0.0.1", "-t", "1", "-b", "10M", "-J"])?;
    let result: serde_json::Value = serde_json::from_str(&result)?;
    let ledger = &result["summary"]["flows"][0]["ledger"];
    let delivered = ledger["delivered"].as_u64().unwrap_or(0);
    ensure!(
        delivered > 0,
        "the installed program: must deliver packets: {ledger}"
    );
    let rest = server.rest()?;
    ensure!(!rest.contains("panicked"), "{rest}");
    Ok(())
}

fn ensure_version(text: &str) -> Result<()> {
    let text = text.trim();
    ensure!(
        text == format!("dccpmon {VERSION}"),
        "dccpmon --version: {text}: must be dccpmon {VERSION}"
    );
    Ok(())
}
