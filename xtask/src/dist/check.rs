//! Checks of the packages: installed below an empty folder, where neither libraries nor other files are, they work;
//! then they are removed without a trace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use dccp_dev::shell::{self, Background, command, command_line};

use super::{FOLDER, PAGES, Program, SUMS, VERSION};

/// Compares the packages with their checksums.
pub(super) fn sums() -> Result<()> {
    let mut check = command(&["sha256sum", "--check", "--quiet", SUMS]);
    shell::output(check.current_dir(FOLDER))?;
    Ok(())
}

/// Unpacks the archive and runs the program in it.
pub(super) fn archive(program: Program, package: &Path) -> Result<()> {
    let folder = Path::new(FOLDER).join("unpacked");
    fs::create_dir_all(&folder)?;
    let mut tar = command(&["tar", "-xf"]);
    shell::output(tar.arg(package).arg("-C").arg(&folder))?;
    let top = folder.join(program.archive_name());
    let name = program.name();
    let binary = top.join("bin").join(name);
    let version = shell::output(command(&[binary]).arg("--version"))?;
    ensure_version(program, &version)?;
    for file in [
        format!("share/doc/{name}/LICENSE-MIT"),
        format!("share/man/man1/{name}.1.gz"),
    ] {
        ensure!(top.join(&file).is_file(), "{file}: must be in the archive");
    }
    Ok(())
}

/// Installs the package below an empty folder, uses the program there, and removes it.
pub(super) fn package(program: Program, package: &Path, pages: &[PathBuf]) -> Result<()> {
    ensure!(
        shell::is_root(),
        "--check: needs root, because it uses chroot and namespaces"
    );
    let host = empty_host()?;
    let before = tree_of(&host)?;
    let package = fs::canonicalize(package)?;
    let mut installing = dpkg(&host);
    if program == Program::Dccprun {
        // Its library is for programs that have the C library, and the host has neither.
        installing.arg("--force-depends");
    }
    shell::output(installing.arg("-i").arg(package))?;

    let names = pages.iter().filter_map(|page| page.file_name()?.to_str());
    let pages: Vec<_> = names.map(|name| format!("{PAGES}/{name}")).collect();
    ensure!(
        !pages.is_empty(),
        "{PAGES}: must have a page of each command"
    );
    let completions = program.completions().into_iter().map(|(_, _, file)| file);
    let files = program.files().into_iter().map(|(_, file)| file);
    let files = files.chain(completions).chain(pages);
    let debian = ["copyright", "changelog.gz"].map(|file| program.document(file));
    for file in files.chain(debian) {
        ensure!(host.join(&file).is_file(), "{file}: must be installed");
    }
    ensure!(
        !host.join("etc").exists(),
        "etc: the service must not be enabled"
    );
    match program {
        Program::Dccpmon => measure(&host)?,
        Program::DccpBridge => carry(&host)?,
        Program::Dccpd => lend(&host)?,
        Program::Dccprun => netcat(&host)?,
    }

    shell::output(dpkg(&host).args(["-P", program.name()]))?;
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
    let program = format!("/{}", Program::Dccpmon.binary());
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
    ensure_version(Program::Dccpmon, &inside(&["--version"])?)?;
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

/// Sends each datagram back that arrives at a UDP port. Debian always has Perl.
const ECHO: &str = r#"$| = 1;
$socket = IO::Socket::INET->new(Proto => "udp", LocalAddr => "127.0.0.1:7021") or die $!;
print "ready\n";
while (defined $socket->recv($datagram, 100)) { $socket->send($datagram) }"#;
/// Sends datagrams to the bridge until one comes back.
const ASK: &str = "exec 3<>/dev/udp/127.0.0.1/7023
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
do echo hello >&3; timeout 1 head -c 5 <&3 && exit; done
exit 1";

/// Runs both sides of a bridge in the host, and sends datagrams through it.
fn carry(host: &Path) -> Result<()> {
    let user = ["chroot", "--userspec=65534:65534"];
    let program = format!("/{}", Program::DccpBridge.binary());
    let mut listen = command_line("unshare --net --mount sh -ec");
    listen.arg(ENTER).arg("sh").arg(host).args(user).arg(host);
    listen
        .arg(&program)
        .args(["listen", "--udp", "127.0.0.1:7021"]);
    let listen = Background::start(listen, "listens at ")?;
    let [net, mount] = ["net", "mnt"].map(|kind| format!("/proc/{}/ns/{kind}", listen.id()));
    let mut connect = command_line("nsenter");
    connect.arg(format!("--net={net}"));
    connect.arg(format!("--mount={mount}")).args(user).arg(host);
    connect
        .arg(&program)
        .args(["connect", "--udp", "127.0.0.1:7023"]);
    connect.args(["--peer", "127.0.0.1"]);
    let _connect = Background::start(connect, "takes UDP at ")?;
    let in_network = |words: &[&str]| {
        let mut command = command_line("nsenter");
        command.arg(format!("--net={net}"));
        command.args(words);
        command
    };
    let words = ["perl", "-MIO::Socket::INET", "-e", ECHO];
    let _echo = Background::start(in_network(&words), "ready")?;
    let answer = shell::output(&mut in_network(&["bash", "-c", ASK]))?;
    ensure!(
        answer.trim() == "hello",
        "the installed program: must carry datagrams both ways: {answer:?}"
    );
    Ok(())
}

/// The policy of the check, which the service reads. The host has no list of users, so the rule names all.
const POLICY: &str = r#"
[[rule]]
users = ["*"]
connect = ["*"]
listen = ["*"]
"#;

/// Runs the service in the host, and makes a transfer through it.
fn lend(host: &Path) -> Result<()> {
    let user = ["chroot", "--userspec=65534:65534"];
    // The sockets are in a folder that can be written.
    let script = ENTER.replace(
        "shift\n",
        "mount -t tmpfs -o mode=1777 tmpfs \"$1/run\"\n\
         mkdir -m 1777 \"$1/run/dccpd\"; printf '%s' \"$2\" > \"$1/run/policy.toml\"\nshift 2\n",
    );
    fs::create_dir_all(host.join("run"))?;
    let mut daemon = command_line("unshare --net --mount sh -ec");
    daemon.arg(script).arg("sh").arg(host).arg(POLICY);
    daemon.args(user).arg(host);
    daemon.args(["/usr/bin/dccpd", "--policy", "/run/policy.toml"]);
    let daemon = Background::start(daemon, "lends DCCP at ")?;
    let [net, mount] = ["net", "mnt"].map(|kind| format!("/proc/{}/ns/{kind}", daemon.id()));
    let mut transfer = command_line("nsenter");
    transfer.arg(format!("--net={net}"));
    transfer
        .arg(format!("--mount={mount}"))
        .args(user)
        .arg(host);
    transfer.args(["/usr/bin/dccpctl", "selftest"]);
    let shown = shell::output(&mut transfer)?;
    ensure!(
        shown.contains("datagrams go both ways"),
        "the installed service: must make a transfer: {shown:?}"
    );
    drop(daemon);
    fs::remove_dir(host.join("run"))?;
    Ok(())
}

/// Two programs of Debian that speak DCCP, in a network of their own, by the files of the host.
const NETCAT: &str = r#"
ip link set lo up
"$1" sh -c "exec nc.openbsd -Z -l 5001" > "$2" < /dev/null &
for turn in 1 2 3 4 5 6 7 8 9 10
do
    "$1" sh -c "echo hello | nc.openbsd -Z -w 1 127.0.0.1 5001" && break
    sleep 0.2
done
wait
"#;

/// Lets programs for the kernel's DCCP make a transfer. They need the libraries of this machine, which the host lacks.
fn netcat(host: &Path) -> Result<()> {
    let received = Path::new(FOLDER).join("received");
    let mut programs = command_line("unshare --net timeout 60 sh -ec");
    programs.arg(NETCAT).arg("sh");
    programs
        .arg(host.join(Program::Dccprun.binary()))
        .arg(&received);
    shell::output(&mut programs)?;
    let text = fs::read_to_string(&received)?;
    ensure!(
        text == "hello\n",
        "the installed program: must let programs make a transfer: {text:?}"
    );
    Ok(())
}

fn ensure_version(program: Program, text: &str) -> Result<()> {
    let text = text.trim();
    let name = program.name();
    ensure!(
        text == format!("{name} {VERSION}"),
        "{name} --version: {text}: must be {name} {VERSION}"
    );
    Ok(())
}
