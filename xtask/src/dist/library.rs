//! The library for C: Debian packages of the shared library and of the files for developers, and an archive of both for
//! other distributions.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use dccp_dev::shell::{self, Background, command, command_line};
use dccp_dev::{libdccp, packages};

use super::debian::{self, Package};
use super::{
    FOLDER, VERSION, check, checksums, compress, files_of, install, pack, target_folder, write,
};

const CRATE: &str = "crates/dccp-capi";
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The folder of libraries in Debian.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const PAGES: &str = "usr/share/man/man3";
const SONAME: &str = "libdccp.so.0";
const RUNTIME: &str = "libdccp0";
const DEVELOPMENT: &str = "libdccp-dev";

/// Builds both packages and the archive. Returns whether the checks succeeded.
pub(super) fn run(is_quick: bool, is_checked: bool) -> Result<bool> {
    packages::install(packages::FOR_LIBRARY)?;
    let target = target_folder()?;
    let built = libdccp::build(Path::new(&target), !is_quick)?;
    let _ = fs::remove_dir_all(FOLDER);
    let runtime = stage_runtime(&built)?;
    let development = stage_development(&built)?;
    let archive = archive(&[&runtime, &development])?;
    let relations = format!("Depends: {}, libgcc-s1\n", c_library(&runtime)?);
    let runtime = package(RUNTIME, &relations, &runtime)?;
    let relations = format!("Depends: {RUNTIME} (= {VERSION})\n");
    let development = package(DEVELOPMENT, &relations, &development)?;
    let sums = checksums(&[&archive, &runtime, &development])?;
    if is_checked {
        check::sums()?;
        use_packages(&[&runtime, &development])?;
        use_archive(&archive)?;
        for package in [&runtime, &development] {
            debian::lint(package)?;
        }
    }
    print!("{sums}");
    Ok(true)
}

/// The shared library with its version, and the name that programs ask for.
fn stage_runtime(built: &Path) -> Result<PathBuf> {
    let root = Path::new(FOLDER).join(RUNTIME);
    let libraries = root.join(LIBRARIES);
    let file = libraries.join(format!("libdccp.so.{VERSION}"));
    install(&built.join("libdccp.so"), &file, "644")?;
    shell::output(command_line("strip --strip-unneeded").arg(&file))?;
    link(&format!("libdccp.so.{VERSION}"), &libraries.join(SONAME))?;
    Ok(root)
}

/// Headers, the static library, the file for pkg-config, manual pages, the guide and the examples.
fn stage_development(built: &Path) -> Result<PathBuf> {
    let root = Path::new(FOLDER).join(DEVELOPMENT);
    let libraries = root.join(LIBRARIES);
    link(SONAME, &libraries.join("libdccp.so"))?;
    let archive = libraries.join("libdccp.a");
    install(&built.join("libdccp.a"), &archive, "644")?;
    shell::output(command_line("strip --strip-debug").arg(&archive))?;
    let description = pkg_config("/usr", "lib/x86_64-linux-gnu");
    write(&libraries.join("pkgconfig/libdccp.pc"), &description)?;
    for header in ["dccp.h", "dccp.hpp", "dccp_ring_layout.h"] {
        let from = Path::new(CRATE).join("include").join(header);
        install(&from, &root.join("usr/include").join(header), "644")?;
    }
    let documents = root.join(format!("usr/share/doc/{DEVELOPMENT}"));
    install(
        Path::new("docs/c-api.md"),
        &documents.join("c-api.md"),
        "644",
    )?;
    for example in files_of(&Path::new(CRATE).join("examples"))? {
        let name = example.file_name().context("an example")?;
        install(&example, &documents.join("examples").join(name), "644")?;
    }
    let services = documents.join("examples/services");
    install(Path::new("contrib/services"), &services, "644")?;
    stage_pages(&root.join(PAGES))?;
    Ok(root)
}

/// The manual pages, and a link for each function.
fn stage_pages(folder: &Path) -> Result<()> {
    for page in files_of(&Path::new(CRATE).join("man"))? {
        let file = page.file_name().context("a page")?;
        install(&page, &folder.join(file), "644")?;
        let file = format!("{}.gz", file.to_string_lossy());
        for name in names(&fs::read_to_string(&page)?)? {
            let name = format!("{name}.3.gz");
            if name != file {
                link(&file, &folder.join(name))?;
            }
        }
    }
    let pages = files_of(folder)?;
    let pages: Vec<_> = pages
        .into_iter()
        .filter(|page| !page.is_symlink())
        .collect();
    compress(&pages)
}

/// The names of a manual page, of its section NAME.
fn names(page: &str) -> Result<Vec<String>> {
    let (_, rest) = page.split_once(".SH NAME\n").context(".SH NAME")?;
    let (names, _) = rest.split_once(" \\- ").context("names and title")?;
    Ok(names.split(", ").map(str::to_owned).collect())
}

fn link(to: &str, from: &Path) -> Result<()> {
    fs::create_dir_all(from.parent().context("a folder")?)?;
    std::os::unix::fs::symlink(to, from).with_context(|| from.display().to_string())
}

/// Packs the files of both packages for any prefix: libraries are in `lib`, and pkg-config finds the rest from there.
fn archive(roots: &[&Path]) -> Result<PathBuf> {
    let root = Path::new(FOLDER).join("libdccp-archive");
    fs::create_dir_all(&root)?;
    for from in roots {
        shell::output(command(&["cp", "-a"]).arg(from.join("usr")).arg(&root))?;
    }
    let usr = root.join("usr");
    fs::rename(root.join(LIBRARIES), usr.join("libraries"))?;
    fs::remove_dir(usr.join("lib"))?;
    fs::rename(usr.join("libraries"), usr.join("lib"))?;
    let description = pkg_config("${pcfiledir}/../..", "lib");
    fs::write(usr.join("lib/pkgconfig/libdccp.pc"), description)?;
    for file in ["CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        let to = usr.join(format!("share/doc/{DEVELOPMENT}")).join(file);
        install(Path::new(file), &to, "644")?;
    }
    pack(&root, &archive_name())
}

/// The only folder in the archive.
fn archive_name() -> String {
    format!("libdccp-{VERSION}-x86_64-linux")
}

fn pkg_config(prefix: &str, libraries: &str) -> String {
    format!(
        "prefix={prefix}
includedir=${{prefix}}/include
libdir=${{prefix}}/{libraries}

Name: libdccp
Description: congestion-controlled datagrams (DCCP) in user space
URL: {}
Version: {VERSION}
Libs: -L${{libdir}} -ldccp
Libs.private: -lgcc_s -lpthread -ldl -lm
Cflags: -I${{includedir}}
",
        env!("CARGO_PKG_REPOSITORY")
    )
}

/// The C library that the shared library needs: the newest version of its symbols.
fn c_library(root: &Path) -> Result<String> {
    let file = root.join(LIBRARIES).join(SONAME);
    let symbols = shell::output(command(&["readelf", "--version-info", "--wide"]).arg(file))?;
    let versions = symbols.split("Name: GLIBC_2.").skip(1);
    let newest = versions
        .filter_map(|rest| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        })
        .max();
    let newest: u32 = newest.context("readelf: no version of GLIBC")?;
    Ok(format!("libc6 (>= 2.{newest})"))
}

fn package(name: &str, relations: &str, root: &Path) -> Result<PathBuf> {
    let is_runtime = name == RUNTIME;
    let (section, text) = if is_runtime {
        ("libs", RUNTIME_TEXT)
    } else {
        ("libdevel", DEVELOPMENT_TEXT)
    };
    let mut control = Vec::new();
    if is_runtime {
        // The linker's cache learns the library, and packages of programs the package to depend on.
        control.push(("triggers", "644", "activate-noawait ldconfig\n".into()));
        let shlibs = format!("libdccp 0 {RUNTIME} (>= {VERSION})\n");
        control.push(("shlibs", "644", shlibs));
    }
    let package = Package {
        name,
        built_from: (&["dccp-capi"], TARGET),
        contains: "the standard library of Rust (MIT or Apache-2.0)",
        section,
        relations: format!("Multi-Arch: same\n{relations}"),
        text,
        overrides: format!(
            "# No bug of Debian asks for this package, which the project distributes itself.
{name}: initial-upload-closes-no-bugs [usr/share/doc/{name}/changelog.gz:1]
"
        ),
        control,
    };
    package.build(root)
}

const RUNTIME_TEXT: &str = "\
congestion-controlled datagrams (DCCP), shared library
 libdccp gives C programs sockets of DCCP in user space, over UDP or IP.
 Datagrams have priorities, deadlines and keys until they leave, and each has
 a fate.";

const DEVELOPMENT_TEXT: &str = "\
congestion-controlled datagrams (DCCP), development files
 libdccp gives C programs sockets of DCCP in user space, over UDP or IP.
 .
 This package has the headers for C and C++, the static library, manual pages
 and examples.";

/// Unpacks both packages below an empty folder, looks for manual pages, and builds an example there.
fn use_packages(packages: &[&PathBuf]) -> Result<()> {
    let host = std::path::absolute(Path::new(FOLDER).join("host"))?;
    for package in packages {
        shell::output(command(&["dpkg-deb", "--extract"]).arg(package).arg(&host))?;
    }
    let header = fs::read_to_string(host.join("usr/include/dccp.h"))?;
    for line in header.lines().filter(|line| !line.starts_with("//")) {
        let before = line.split_once('(').map_or("", |(before, _)| before);
        let function = before.rsplit([' ', '*']).next().unwrap_or_default();
        if function.starts_with("dccp_") {
            let page = host.join(PAGES).join(format!("{function}.3.gz"));
            ensure!(page.is_file(), "{function}: must have a manual page");
        }
    }
    let examples = host.join(format!("usr/share/doc/{DEVELOPMENT}/examples"));
    use_library(&host.join(LIBRARIES), &examples, &host)
}

/// Unpacks the archive and builds an example with its files.
fn use_archive(archive: &Path) -> Result<()> {
    let folder = std::path::absolute(Path::new(FOLDER).join("elsewhere"))?;
    fs::create_dir_all(&folder)?;
    let archive = std::path::absolute(archive)?;
    shell::output(
        command(&["tar", "-xzf"])
            .arg(archive)
            .arg("-C")
            .arg(&folder),
    )?;
    let prefix = folder.join(archive_name());
    let examples = prefix.join(format!("share/doc/{DEVELOPMENT}/examples"));
    use_library(&prefix.join("lib"), &examples, Path::new("/"))
}

/// Builds an example by pkg-config, whose paths are below `system`, and runs it with either library.
fn use_library(libraries: &Path, examples: &Path, system: &Path) -> Result<()> {
    let pkg_config = |words: &str| {
        let mut pkg_config = command_line(words);
        pkg_config.env("PKG_CONFIG_LIBDIR", libraries.join("pkgconfig"));
        if system != Path::new("/") {
            pkg_config.env("PKG_CONFIG_SYSROOT_DIR", system);
        }
        shell::output(&mut pkg_config)
    };
    let shared = pkg_config("pkg-config --cflags --libs libdccp")?;
    let fixed = pkg_config("pkg-config --static --cflags --libs libdccp")?;
    let fixed = fixed.replace("-ldccp", "-l:libdccp.a");
    let sources = files_of(examples)?;
    for source in sources
        .iter()
        .filter(|file| file.extension() == Some("c".as_ref()))
    {
        let mut cc = command_line("cc -std=c11 -Wall -Wextra -Werror -fsyntax-only");
        shell::output(cc.arg(source).args(shared.split_whitespace()))?;
    }
    for (name, flags) in [("echo-shared", shared), ("echo-static", fixed)] {
        let program = libraries.join(name);
        let source = examples.join("echo.c");
        let mut cc = command(&["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o"]);
        cc.arg(&program).arg(source).args(flags.split_whitespace());
        shell::output(&mut cc)?;
        let echo = |words: &[&str]| {
            let mut echo = command(&[&program]);
            echo.args(words).env("LD_LIBRARY_PATH", libraries);
            echo
        };
        let server = echo(&["serve", "127.0.0.1:0/0", "1"]);
        let (server, address) = Background::start_with_line(server, "listening at ")?;
        let said = shell::output(&mut echo(&["ask", &address, "20"]))?;
        ensure!(said.starts_with("20 of 20"), "{name}: {said}");
        server.finish()?;
    }
    Ok(())
}
