//! `cargo xtask dist`: packages of a program with a static binary, or of the library for C, for Linux on x86-64.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use dccp_dev::shell::{self, command, command_line};
use dccp_dev::{packages, preload};

mod check;
mod debian;
mod library;

/// The C library of this target is linked into the binary.
const TARGET: &str = "x86_64-unknown-linux-musl";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const FOLDER: &str = "target/dist";
const SUMS: &str = "SHA256SUMS";

/// The library that `dccprun` loads into programs, below the root of a host.
const PRELOAD: &str = "usr/lib/dccprun/libdccp_preload.so";
const PAGES: &str = "usr/share/man/man1";

/// The choices of the command line.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Product {
    /// The measuring program
    Dccpmon,
    /// The bridge for programs that speak UDP
    DccpBridge,
    /// The service of a host, and the program that controls it
    Dccpd,
    /// Programs for the kernel's DCCP, without it
    Dccprun,
    /// The library for C and C++
    DccpCapi,
}

/// A program that is packaged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Dccpmon,
    DccpBridge,
    Dccpd,
    Dccprun,
}

impl Program {
    /// The name of the crate, the main binary and the package.
    const fn name(self) -> &'static str {
        match self {
            Self::Dccpmon => "dccpmon",
            Self::DccpBridge => "dccp-bridge",
            Self::Dccpd => "dccpd",
            Self::Dccprun => "dccprun",
        }
    }

    /// The names of all binaries, the main one first.
    const fn binaries(self) -> &'static [&'static str] {
        match self {
            Self::Dccpmon => &["dccpmon"],
            Self::DccpBridge => &["dccp-bridge"],
            Self::Dccpd => &["dccpd", "dccpctl"],
            Self::Dccprun => &["dccprun"],
        }
    }

    /// The crates that its files are built from.
    const fn crates(self) -> &'static [&'static str] {
        match self {
            Self::Dccpmon => &["dccpmon"],
            Self::DccpBridge => &["dccp-bridge"],
            Self::Dccpd => &["dccpd"],
            Self::Dccprun => &["dccprun", "dccp-preload"],
        }
    }

    /// The main binary below the root of a host.
    fn binary(self) -> String {
        place_of(self.name())
    }

    /// A file among the package's documents, below the root of a host.
    fn document(self, file: &str) -> String {
        format!("usr/share/doc/{}/{file}", self.name())
    }

    /// Files of both packages: place in the repository, place below the root of a host.
    fn files(self) -> Vec<(&'static str, String)> {
        let unit = |file| format!("usr/lib/systemd/system/{file}");
        match self {
            Self::Dccpmon => vec![
                ("contrib/systemd/dccpmon.service", unit("dccpmon.service")),
                ("contrib/systemd/dccpmon.socket", unit("dccpmon.socket")),
                ("README.md", self.document("README.md")),
                ("docs/first-minute.md", self.document("first-minute.md")),
                (
                    "contrib/wireshark/dccp-udp.lua",
                    self.document("examples/dccp-udp.lua"),
                ),
                (
                    "contrib/grafana/dccpmon.json",
                    self.document("examples/grafana.json"),
                ),
            ],
            Self::DccpBridge => vec![
                (
                    "contrib/systemd/dccp-bridge-listen@.service",
                    unit("dccp-bridge-listen@.service"),
                ),
                (
                    "contrib/systemd/dccp-bridge-connect@.service",
                    unit("dccp-bridge-connect@.service"),
                ),
                ("docs/bridge.md", self.document("bridge.md")),
                (
                    "contrib/bridge/encoder.toml",
                    self.document("examples/encoder.toml"),
                ),
                (
                    "contrib/bridge/player.toml",
                    self.document("examples/player.toml"),
                ),
            ],
            Self::Dccpd => vec![
                ("contrib/systemd/dccpd.service", unit("dccpd.service")),
                ("contrib/systemd/dccpd.socket", unit("dccpd.socket")),
                (
                    "contrib/snmp/USRDCCP-MIB.txt",
                    "usr/share/snmp/mibs/USRDCCP-MIB.txt".into(),
                ),
                ("docs/admin.md", self.document("admin.md")),
                ("docs/counters.md", self.document("counters.md")),
                (
                    "contrib/dccpd/dccpd.toml",
                    self.document("examples/dccpd.toml"),
                ),
                ("contrib/services", self.document("examples/services")),
                (
                    "contrib/wireshark/dccp-udp.lua",
                    self.document("examples/dccp-udp.lua"),
                ),
            ],
            Self::Dccprun => vec![("docs/old-programs.md", self.document("old-programs.md"))],
        }
    }

    /// Files of the archive. The Debian package has them in Debian's form.
    fn archive_files(self) -> [(&'static str, String); 3] {
        ["CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"].map(|file| (file, self.document(file)))
    }

    /// Completions of all binaries: binary, shell, and where the shell's packages look for them.
    fn completions(self) -> Vec<(&'static str, &'static str, String)> {
        let of = |name: &&'static str| {
            let place = |shell, folder: &str| (*name, shell, format!("usr/share/{folder}"));
            [
                place("bash", &format!("bash-completion/completions/{name}")),
                place("zsh", &format!("zsh/vendor-completions/_{name}")),
                place("fish", &format!("fish/vendor_completions.d/{name}.fish")),
            ]
        };
        self.binaries().iter().flat_map(of).collect()
    }

    /// The words that come before the folder of manual pages, and before a shell. Where the command line is for another
    /// program, they are options.
    const fn package_words(self) -> [&'static str; 2] {
        match self {
            Self::Dccprun => ["--man", "--completions"],
            _ => ["man", "completions"],
        }
    }

    /// The only folder in the archive.
    fn archive_name(self) -> String {
        format!("{}-{VERSION}-x86_64-linux", self.name())
    }
}

/// A binary below the root of a host.
fn place_of(binary: &str) -> String {
    format!("usr/bin/{binary}")
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program or library that is packaged
    #[arg(value_enum, default_value = "dccpmon")]
    product: Product,
    /// Build without optimisation, to test the packages
    #[arg(long)]
    quick: bool,
    /// Install the package below an empty folder, use it there, remove it; run lintian (needs root for programs)
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
    let program = match args.product {
        Product::Dccpmon => Program::Dccpmon,
        Product::DccpBridge => Program::DccpBridge,
        Product::Dccpd => Program::Dccpd,
        Product::Dccprun => Program::Dccprun,
        Product::DccpCapi => return library::run(args.quick, args.check),
    };
    let folder = build(program, args.quick)?;
    let root = stage(program, &folder)?;
    if program == Program::Dccprun {
        let library = preload::build(Path::new(&target_folder()?), !args.quick)?;
        shell::output(command(&["strip", "--strip-unneeded"]).arg(&library))?;
        install(&library, &root.join(PRELOAD), "644")?;
    }
    let pages = files_of(&root.join(PAGES))?;
    let packages = Packages {
        archive: archive(program, &root)?,
        debian: debian::program(program, &root)?,
    };
    let sums = checksums(&[&packages.debian, &packages.archive])?;
    if args.check {
        packages::install(packages::FOR_DIST)?;
        check::sums()?;
        check::archive(program, &packages.archive)?;
        check::package(program, &packages.debian, &pages)?;
        debian::lint(&packages.debian)?;
    }
    for name in program.binaries() {
        let bytes = fs::metadata(folder.join(name))?.len();
        println!("{}: {} kB, static", place_of(name), bytes / 1000);
    }
    print!("{sums}");
    Ok(true)
}

/// Builds the static binaries and returns their folder.
fn build(program: Program, is_quick: bool) -> Result<PathBuf> {
    ensure!(
        packages::add_target(TARGET),
        "target {TARGET}: must be installed: rustup target add {TARGET}"
    );
    let mut cargo = command_line("cargo build --locked --quiet --target");
    cargo.args([TARGET, "-p", program.name()]);
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
    let target = target_folder()?;
    let profile = if is_quick { "debug" } else { "release" };
    Ok([&target, TARGET, profile].iter().collect())
}

/// The folder where cargo puts what it builds.
fn target_folder() -> Result<String> {
    let metadata = shell::output(&mut command_line(
        "cargo metadata --locked --no-deps --format-version 1",
    ))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"].as_str();
    let target = target.context("cargo metadata: target_directory is missing")?;
    Ok(target.into())
}

/// Lays out the files as on a host. Returns the folder that stands for its root.
fn stage(program: Program, binaries: &Path) -> Result<PathBuf> {
    let root = Path::new(FOLDER).join("root");
    let _ = fs::remove_dir_all(FOLDER);
    for (from, to) in program.files() {
        install(Path::new(from), &root.join(to), "644")?;
    }
    let pages = root.join(PAGES);
    let [man, completions] = program.package_words();
    for name in program.binaries() {
        let installed = root.join(place_of(name));
        install(&binaries.join(name), &installed, "755")?;
        shell::output(command(&[&installed]).arg(man).arg(&pages))?;
    }
    compress(&files_of(&pages)?)?;
    for (name, shell, to) in program.completions() {
        let installed = root.join(place_of(name));
        let script = shell::output(command(&[&installed]).args([completions, shell]))?;
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
fn archive(program: Program, root: &Path) -> Result<PathBuf> {
    for (from, to) in program.archive_files() {
        install(Path::new(from), &root.join(to), "644")?;
    }
    let package = pack(root, &program.archive_name())?;
    for (_, file) in program.archive_files() {
        fs::remove_file(root.join(file))?;
    }
    Ok(package)
}

/// Packs the folder `usr` below `root` as `name.tar.gz`. The only folder in it is `name`.
fn pack(root: &Path, name: &str) -> Result<PathBuf> {
    set_modes(root)?;
    let package = Path::new(FOLDER).join(format!("{name}.tar.gz"));
    let mut tar = command_line("tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner");
    tar.args(["--use-compress-program", "gzip -n"]);
    tar.args(["--transform", &format!("s,^[.]/usr,{name},")]);
    tar.arg("-cf").arg(std::path::absolute(&package)?);
    shell::output(tar.arg("-C").arg(root).arg("./usr"))?;
    Ok(package)
}

/// Writes the checksums and returns them.
fn checksums(packages: &[&PathBuf]) -> Result<String> {
    let mut sha256sum = command(&["sha256sum"]);
    sha256sum.current_dir(FOLDER);
    sha256sum.args(packages.iter().filter_map(|package| package.file_name()));
    let sums = shell::output(&mut sha256sum)?;
    fs::write(Path::new(FOLDER).join(SUMS), &sums)?;
    Ok(sums)
}
