//! Installs what a bare machine lacks: Debian packages, cargo's tools, rustup's targets.

use anyhow::Result;

use crate::shell::{self, command};

/// A Debian package, and a program that shows that it is installed.
pub struct Package {
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

/// Needed by the tests: compilers, capture reader, namespaces, failing system calls, a browser, an agent of SNMP, Prometheus, programs that speak DCCP, the guest with the Linux kernel's DCCP.
pub const FOR_TESTS: &[Package] = &[
    program("gcc", "gcc"),
    program("g++", "g++"),
    files("libc6-dev"),
    program("valgrind", "valgrind"),
    program("iproute2", "ip"),
    program("ethtool", "ethtool"),
    program("tcpdump", "tcpdump"),
    program("tshark", "tshark"),
    program("qemu-system-x86", "qemu-system-x86_64"),
    program("busybox-static", "busybox"),
    program("dash", "dash"),
    program("cpio", "cpio"),
    program("kmod", "depmod"),
    program("strace", "strace"),
    program("python3", "python3"),
    files("python3-venv"),
    program("chromium", "chromium"),
    program("man-db", "man"),
    program("util-linux", "setpriv"),
    program("mount", "mount"),
    program("iperf3", "iperf3"),
    program("ffmpeg", "ffmpeg"),
    program("systemd", "systemd-socket-activate"),
    program("snmpd", "snmpd"),
    program("snmp", "snmpbulkwalk"),
    program("smitools", "smilint"),
    program("prometheus", "promtool"),
    program("socat", "socat"),
    program("netcat-openbsd", "nc.openbsd"),
];

/// Needed to check the packages of programs: a shell without libraries, namespaces, a program that speaks DCCP.
pub const FOR_DIST: &[Package] = &[
    program("netcat-openbsd", "nc.openbsd"),
    program("busybox-static", "busybox"),
    program("iproute2", "ip"),
    program("util-linux", "nsenter"),
];

/// Needed to check the packages of the library for C. The compiler comes with `strip` and `readelf`.
pub const FOR_LIBRARY: &[Package] = &[
    program("gcc", "gcc"),
    files("libc6-dev"),
    program("pkg-config", "pkg-config"),
];

/// Needed by the attacks: network namespaces and a link of a given rate.
pub const FOR_ATTACKS: &[Package] = &[program("iproute2", "ip")];

/// Needed by the demo.
pub const FOR_DEMO: &[Package] = &[program("iproute2", "ip")];

/// Needed by the benchmarks of transfers.
pub const FOR_BENCH: &[Package] = &[
    program("iproute2", "ip"),
    program("ethtool", "ethtool"),
    program("util-linux", "taskset"),
    program("iperf3", "iperf3"),
];

/// Needed to count instructions.
pub const FOR_COUNTING: &[Package] = &[program("valgrind", "valgrind")];

/// Needed to build libFuzzer.
pub const FOR_FUZZING: &[Package] = &[program("g++", "g++")];

/// Needed by `cargo xtask peers sim`.
pub const FOR_PEERS: &[Package] = &[program("ns2", "ns")];

/// Needed by the simulator's benchmark.
pub const FOR_BENCH_SIM: &[Package] = &[
    program("ns2", "ns"),
    files("libns3-dev"),
    program("g++", "g++"),
    program("valgrind", "valgrind"),
];

/// Installs the missing ones of `packages`, where that is possible, and prints their names. Tests that
/// lack one report it themselves.
///
/// # Errors
/// `apt-get` fails.
pub fn install(packages: &[Package]) -> Result<()> {
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
        println!("Missing, and cannot be installed here (no apt-get, or no permission): {list}");
        return Ok(());
    };
    println!("Installing Debian packages: {list}");
    let install: Vec<&str> = [&apt[..], &["install", "-y", "--no-install-recommends"]].concat();
    let install = [&install[..], &missing].concat();
    if shell::run(&mut command(&install)).is_err() {
        // The list of packages is missing or too old.
        shell::run(&mut command(&[&apt[..], &["update"]].concat()))?;
        shell::run(&mut command(&install))?;
    }
    Ok(())
}

/// Installs one of cargo's tools at `version`, unless any version is installed.
///
/// # Errors
/// `cargo install` fails.
pub fn install_cargo_tool(name: &str, version: &str) -> Result<()> {
    if shell::find_program(name).is_some() {
        return Ok(());
    }
    println!("Installing {name} {version} with cargo");
    // Built without optimization, these tools are ready much earlier, and they run for seconds only.
    let install = [
        "cargo",
        "install",
        "--quiet",
        "--debug",
        "--locked",
        "--version",
        version,
        name,
    ];
    shell::run(&mut command(&install))
}

/// Adds a target to the toolchain. Returns whether it is installed now.
pub fn add_target(target: &str) -> bool {
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

/// The command `apt-get` without questions: as root, or through sudo if that needs no password.
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
