//! The Debian package: its control files, and the texts that Debian wants in its own form.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use dccp_dev::shell::{self, command, command_line};

use super::{FOLDER, Program, TARGET, VERSION, compress, install, place_of, set_modes, write};

const ARCHITECTURE: &str = "amd64";
const MAINTAINER: &str = "usrdccp maintainers <usrdccp@users.noreply.github.com>";
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// A Debian package: what its control files say.
pub(super) struct Package<'a> {
    pub(super) name: &'a str,
    /// The crates that the files are built from, and cargo's target.
    pub(super) built_from: (&'a [&'a str], &'a str),
    /// Libraries in the files that are no crates.
    pub(super) contains: &'a str,
    pub(super) section: &'a str,
    /// Fields of the control file about other packages.
    pub(super) relations: String,
    /// The description in Debian's form.
    pub(super) text: &'a str,
    /// Complaints of lintian that do not apply, each with its reason.
    pub(super) overrides: String,
    /// Further control files: name, mode, content.
    pub(super) control: Vec<(&'static str, &'static str, String)>,
}

/// The package of a program.
pub(super) fn program(program: Program, root: &Path) -> Result<PathBuf> {
    let package = Package {
        name: program.name(),
        built_from: (program.crates(), TARGET),
        contains: "the standard library of Rust (MIT or Apache-2.0) and the C\n library musl (MIT)",
        section: "net",
        relations: match program {
            // The library is loaded into programs that have this C library already.
            Program::Dccprun => "Depends: libc6\n".into(),
            _ => String::new(),
        },
        text: text(program),
        overrides: overrides(program),
        control: prerm(program)
            .map(|script| ("prerm", "755", script))
            .into_iter()
            .collect(),
    };
    package.build(root)
}

/// Complaints of lintian about a program.
fn overrides(program: Program) -> String {
    let name = program.name();
    let binaries = program.binaries().iter();
    let of = |binary: &&str| {
        let place = place_of(binary);
        format!(
            "{name}: statically-linked-binary [{place}]\n{name}: shared-library-lacks-prerequisites [{place}]\n"
        )
    };
    let binaries: String = binaries.map(of).collect();
    format!(
        "\
# The program must run on hosts of any distribution and release, so its C library is linked into it.
# It may be loaded at any address, and so looks like a shared library.
{binaries}# No bug of Debian asks for this package, which the project distributes itself.
{name}: initial-upload-closes-no-bugs [usr/share/doc/{name}/changelog.gz:1]
"
    )
}

/// Stops the service, if there is one, before its program is removed. An upgrade leaves it running.
fn prerm(program: Program) -> Option<String> {
    let units = match program {
        Program::Dccpmon => "dccpmon.socket dccpmon.service",
        Program::DccpBridge => "'dccp-bridge-*@*.service'",
        Program::Dccpd => "dccpd.socket dccpd.service",
        Program::Dccprun => return None,
    };
    Some(format!(
        r#"#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	deb-systemd-invoke stop {units} || true
fi
"#
    ))
}

/// The description in Debian's form.
fn text(program: Program) -> &'static str {
    match program {
        Program::Dccpmon => {
            "\
measures network paths with DCCP, UDP and TCP
 dccpmon measures throughput, delay and loss between two hosts, and states where
 packets were lost and what limited the run.
 .
 The server is a systemd service, which starts when it is enabled. It can also
 start when the first client connects."
        }
        Program::DccpBridge => {
            "\
carries UDP between two hosts over DCCP
 dccp-bridge gives programs that speak UDP a congestion control, without a
 change to them. Datagrams that wait too long are dropped, and encoders can
 read the rate that the path takes.
 .
 Each bridge is an instance of a systemd service, with a file in TOML."
        }
        Program::Dccpd => {
            "\
runs DCCP for all programs of a host
 dccpd gives programs connections with congestion control, whatever the kernel.
 A policy says which users may connect and listen where, and how fast.
 .
 dccpctl shows connections and counters, traces connections and answers snmpd.
 It starts at boot after systemctl enable dccpd.service; with dccpd.socket
 alone, when the first program asks for it."
        }
        Program::Dccprun => {
            "\
runs programs for the kernel's DCCP on kernels without it
 Linux removed DCCP in 6.16. dccprun starts a program that was written for it,
 and carries its connections over UDP or IP protocol 33.
 .
 Programs that are linked statically or written in Go cannot be run so."
        }
    }
}

impl Package<'_> {
    /// Builds the package from the files below `root`.
    pub(super) fn build(&self, root: &Path) -> Result<PathBuf> {
        let name = self.name;
        let documents = root.join(format!("usr/share/doc/{name}"));
        write(&documents.join("copyright"), &self.copyright()?)?;
        let changelog = documents.join("changelog");
        write(&changelog, &changes(name))?;
        compress(&[changelog])?;
        let lintian = root.join(format!("usr/share/lintian/overrides/{name}"));
        write(&lintian, &self.overrides)?;
        set_modes(root)?;

        let control = root.join("DEBIAN");
        write(&control.join("control"), &self.description(root)?)?;
        write(&control.join("md5sums"), &md5sums(root)?)?;
        for (file, mode, content) in &self.control {
            let written = Path::new(FOLDER).join(file);
            write(&written, content)?;
            install(&written, &control.join(file), mode)?;
            fs::remove_file(written)?;
        }
        let package = Path::new(FOLDER).join(format!("{name}_{VERSION}_{ARCHITECTURE}.deb"));
        let mut dpkg_deb = command_line("dpkg-deb --root-owner-group --build");
        // The same sources make the same package.
        dpkg_deb.env("SOURCE_DATE_EPOCH", time_of_commit("%ct"));
        shell::output(dpkg_deb.arg(root).arg(&package))?;
        fs::remove_dir_all(control)?;
        Ok(package)
    }

    fn description(&self, root: &Path) -> Result<String> {
        let kib: u64 = shell::output(command(&["du", "-sk"]).arg(root))?
            .split_whitespace()
            .next()
            .context("du: no number")?
            .parse()?;
        Ok(format!(
            "Package: {name}
Version: {VERSION}
Architecture: {ARCHITECTURE}
Maintainer: {MAINTAINER}
Installed-Size: {kib}
{relations}Section: {section}
Priority: optional
Homepage: {REPOSITORY}
Description: {text}
",
            name = self.name,
            relations = self.relations,
            section = self.section,
            text = self.text,
        ))
    }

    /// The copyright file in Debian's format 1.0: our licences, and those of the crates in the files.
    fn copyright(&self) -> Result<String> {
        let mit = fs::read_to_string("LICENSE-MIT")?;
        let (title, text) = mit.split_once("\n\nPermission").context("LICENSE-MIT")?;
        let holders = title.lines().last().context("LICENSE-MIT")?;
        let holders = holders.trim_start_matches("Copyright (c) ");
        let text = indented(&format!("Permission{text}"));
        let crates = indented(&crates(self.built_from)?);
        Ok(format!(
            "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: usrdccp
Source: {REPOSITORY}
Comment:
 The files contain these crates, each under its own licence. The public
 registry of Rust has their sources with the texts of their licences.
 They also contain {contains}.
 .
{crates}
Files: *
Copyright: {holders}
License: MIT or Apache-2.0

License: MIT
{text}
License: Apache-2.0
 On Debian systems the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
",
            contains = self.contains
        ))
    }
}

/// The sum of each file: `dpkg --verify` compares them.
fn md5sums(root: &Path) -> Result<String> {
    let find = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum";
    shell::output(command(&["sh", "-c", find]).current_dir(root))
}

/// The time of the last commit in a format of `git log`; a fixed time for sources without their history.
fn time_of_commit(format: &str) -> String {
    let format = format!("--format={format}");
    let time = shell::output(&mut command(&["git", "log", "-1", &format]));
    let time = time.unwrap_or_else(|_| match format.as_str() {
        "--format=%ct" => "1767225600".into(),
        _ => "Thu, 01 Jan 2026 00:00:00 +0000".into(),
    });
    time.trim().into()
}

fn changes(name: &str) -> String {
    format!(
        "{name} ({VERSION}) unstable; urgency=medium

  * Package of the project, whose changelog lists the changes:
    {REPOSITORY}/blob/main/CHANGELOG.md

 -- {MAINTAINER}  {}
",
        time_of_commit("%cD")
    )
}

/// Lines of a field: each begins with a blank, and empty ones have a dot.
fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_end() {
        "" => " .\n".to_owned(),
        line => format!(" {line}\n"),
    });
    lines.collect()
}

/// Name, version and licence of each crate that is linked into the files, without our own.
fn crates((names, target): (&[&str], &str)) -> Result<String> {
    let mut tree = command_line("cargo tree --locked -e normal,no-proc-macro --prefix none");
    tree.args(names.iter().flat_map(|name| ["-p", name]));
    tree.args(["--target", target, "--format", "{p}: {l}"]);
    let tree = shell::output(&mut tree)?;
    let others = tree.lines().filter(|line| !line.contains(" (/"));
    let mut lines: Vec<_> = others.map(|line| line.trim_end_matches(" (*)")).collect();
    lines.sort_unstable();
    lines.dedup();
    if lines.len() < 10 {
        bail!("cargo tree: {} crates, must be more", lines.len());
    }
    Ok(lines.join("\n"))
}

/// Lets lintian look for errors in the package, where it is installed.
pub(super) fn lint(package: &Path) -> Result<()> {
    if shell::find_program("lintian").is_none() {
        println!("Not checked by lintian: it is not installed (apt-get install lintian).");
        return Ok(());
    }
    let mut lintian = command_line("lintian --allow-root --fail-on error");
    shell::run(lintian.arg(package))
}
