//! What a bare machine lacks: Debian packages, cargo's tools, rustup's targets.

use anyhow::Result;

use crate::shell::{self, command};

/// A Debian package, and a program by which to see that it is there already.
pub(crate) struct Package {
    name: &'static str,
    program: Option<&'static str>,
}

const fn program(name: &'static str, program: &'static str) -> Package {
    Package {
        name,
        program: Some(program),
    }
}

const fn files(name: &'static str) -> Package {
    Package {
        name,
        program: None,
    }
}

/// What the tests run: capture reader, namespaces, the guest with the Linux kernel's DCCP.
pub(crate) const FOR_TESTS: &[Package] = &[
    program("gcc", "gcc"),
    files("libc6-dev"),
    program("iproute2", "ip"),
    program("ethtool", "ethtool"),
    program("tcpdump", "tcpdump"),
    program("tshark", "tshark"),
    program("qemu-system-x86", "qemu-system-x86_64"),
    program("busybox-static", "busybox"),
    program("dash", "dash"),
    program("cpio", "cpio"),
    program("kmod", "depmod"),
    program("python3", "python3"),
];

/// What the demo runs.
pub(crate) const FOR_DEMO: &[Package] = &[program("iproute2", "ip")];

/// What transfers are compared with, and where they happen.
pub(crate) const FOR_BENCH: &[Package] = &[
    program("iproute2", "ip"),
    program("ethtool", "ethtool"),
    program("util-linux", "taskset"),
    program("iperf3", "iperf3"),
];

/// What counts instructions.
pub(crate) const FOR_COUNTING: &[Package] = &[program("valgrind", "valgrind")];

/// The simulators that ours is compared with.
pub(crate) const FOR_PEERS: &[Package] = &[program("ns2", "ns")];

/// What the simulator's benchmark compares with and counts with.
pub(crate) const FOR_BENCH_SIM: &[Package] = &[
    program("ns2", "ns"),
    files("libns3-dev"),
    program("g++", "g++"),
    program("valgrind", "valgrind"),
];

/// Installs what is missing of `packages`, where that is possible, and says so. What stays
/// missing is named by the tests that need it.
pub(crate) fn install(packages: &[Package]) -> Result<()> {
    let missing: Vec<_> = packages
        .iter()
        .filter(|package| !is_installed(package))
        .map(|package| package.name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    let Some(apt) = apt_get() else {
        println!("Missing, and not to be installed from here (no apt-get, or no right to): {list}");
        return Ok(());
    };
    println!("Installing Debian packages: {list}");
    let install: Vec<&str> = [&apt[..], &["install", "-y", "--no-install-recommends"]].concat();
    let install = [&install[..], &missing].concat();
    if shell::run(&mut command(&install)).is_err() {
        // No list of packages yet, or one too old.
        shell::run(&mut command(&[&apt[..], &["update"]].concat()))?;
        shell::run(&mut command(&install))?;
    }
    Ok(())
}

/// Installs one of cargo's own tools at the version given, if it is not there at all.
pub(crate) fn install_cargo_tool(name: &str, version: &str) -> Result<()> {
    if shell::find_program(name).is_some() {
        return Ok(());
    }
    println!("Installing {name} {version} with cargo");
    let install = ["cargo", "install", "--locked", "--version", version, name];
    shell::run(&mut command(&install))
}

/// Adds a target to the toolchain; whether it is there now.
pub(crate) fn add_target(target: &str) -> bool {
    let installed = shell::output(&mut command(&["rustup", "target", "list", "--installed"]));
    if installed.is_ok_and(|list| list.lines().any(|line| line == target)) {
        return true;
    }
    println!("Adding target {target} with rustup");
    shell::succeeds(&mut command(&["rustup", "target", "add", target]))
}

fn is_installed(package: &Package) -> bool {
    if let Some(program) = package.program {
        return shell::find_program(program).is_some();
    }
    let query = [
        "dpkg-query",
        "-W",
        "-f",
        "${db:Status-Status}",
        package.name,
    ];
    shell::output(&mut command(&query)).is_ok_and(|status| status == "installed")
}

/// How to call `apt-get` without questions: as root, or through sudo where it needs no password.
fn apt_get() -> Option<Vec<&'static str>> {
    shell::find_program("apt-get")?;
    let apt_get = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    if shell::is_root() {
        Some(apt_get.into())
    } else if shell::succeeds(&mut command(&["sudo", "-n", "true"])) {
        Some([&["sudo", "-n"][..], &apt_get].concat())
    } else {
        None
    }
}
