//! Checks the program before it runs: one without a dynamic loader ignores the library, and finds a kernel without DCCP.

use crate::failure;
use dccp_cli::Failure;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The extended attribute with the capabilities of a program file.
const CAPABILITIES: &CStr = c"security.capability";
/// Scripts whose interpreter is a script, at most, as in the kernel.
const INTERPRETERS_MAX: usize = 4;
/// The largest table of program headers, and the largest note, that is read.
const TABLE_MAX: usize = 64 << 10;
const NOTE_MAX: usize = 4 << 10;

const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
/// The note of Go's linker: its name and its type.
const GO_NOTE: (&[u8], u32) = (b"Go\0\0", 4);

/// Whether a program file can load the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// It loads libraries.
    Dynamic,
    /// It has no dynamic loader.
    Static,
    /// Go's linker made it: it calls the kernel without the C library.
    Go,
    /// It is for another processor, or for a process of another word size.
    Foreign,
    /// It is no ELF file: a script without its first line, or something that cannot run.
    Unknown,
}

/// Finds the program, and checks that the library will be loaded into it.
///
/// # Errors
/// When there is no such program, or it would ignore the library.
pub(crate) fn check(program: &OsStr) -> Result<PathBuf, Failure> {
    let path = find(program)?;
    let mut file = path.clone();
    for _ in 0..INTERPRETERS_MAX {
        check_privileges(&file)?;
        match interpreter(&file) {
            Some(words) => file = find(words.as_os_str())?,
            None => break,
        }
    }
    let shown = file.display();
    match kind(&file) {
        Kind::Dynamic | Kind::Unknown => Ok(path),
        Kind::Static => Err(refused(
            format!("{shown}: it is linked statically, so it loads no library"),
            "link it with shared libraries (without -static)",
        )),
        Kind::Go => Err(refused(
            format!("{shown}: it is written in Go, and calls the kernel without the C library"),
            "use a program in C or C++, or the library usrdccp itself",
        )),
        Kind::Foreign => Err(refused(
            format!("{shown}: it is for another processor or word size than dccprun's library"),
            "build dccprun and its library for it, and name the library with --library",
        )),
    }
}

fn refused(what: String, next: &str) -> Failure {
    Failure {
        code: 126,
        ..failure(what, next)
    }
}

/// Looks the program up in `PATH`, if its name has no slash.
fn find(program: &OsStr) -> Result<PathBuf, Failure> {
    let missing = || Failure {
        code: 127,
        ..failure(
            format!("{}: there is no such program", program.display()),
            "check the spelling, or write its path",
        )
    };
    let is_program = |path: &PathBuf| {
        let metadata = path.metadata();
        metadata.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return match path.metadata() {
            Ok(_) if is_program(&path) => Ok(path),
            Ok(_) => Err(refused(
                format!("{}: it may not be run", program.display()),
                "make it executable (chmod +x)",
            )),
            Err(_) => Err(missing()),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(is_program)
        .ok_or_else(missing)
}

/// The dynamic loader ignores preloaded libraries in programs with privileges of their own.
fn check_privileges(path: &Path) -> Result<(), Failure> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let Some((what, next)) = privileges(path, user, group) else {
        return Ok(());
    };
    let shown = path.display();
    Err(refused(
        format!("{shown}: it {what}, so it loads no library"),
        next,
    ))
}

/// The privileges that a program has beside those of this user and group, and how it runs without them.
fn privileges(path: &Path, user: u32, group: u32) -> Option<(&'static str, &'static str)> {
    let metadata = path.metadata().ok()?;
    let mode = metadata.mode();
    if mode & 0o4000 != 0 && metadata.uid() != user || mode & 0o2000 != 0 && metadata.gid() != group
    {
        let next = "run dccprun as the user that the program needs";
        return Some(("is set-user-ID or set-group-ID", next));
    }
    // Root has all capabilities anyway.
    let has_capabilities =
        user != 0 && rustix::fs::getxattr(path, CAPABILITIES, &mut [0; 64]).is_ok();
    has_capabilities.then_some((
        "has file capabilities",
        "run a copy of it, which has none, or remove them (setcap -r)",
    ))
}

/// The interpreter that the first line of a script names. For `env` that is the program that it runs.
fn interpreter(path: &Path) -> Option<OsString> {
    let mut head = [0; 256];
    let len = File::open(path).ok()?.read(&mut head).ok()?;
    let line = head.get(..len)?.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let first = words.next()?;
    let is_env = first.ends_with(b"/env");
    let is_program = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
    let word = words.find(is_program).filter(|_| is_env).unwrap_or(first);
    Some(OsString::from_vec(word.to_vec()))
}

fn kind(path: &Path) -> Kind {
    File::open(path)
        .ok()
        .and_then(|file| elf_kind(&file))
        .unwrap_or(Kind::Unknown)
}

/// Reads the head of an ELF file; `None`: it is none.
fn elf_kind(file: &File) -> Option<Kind> {
    let mut head = [0; 64];
    file.read_exact_at(&mut head, 0).ok()?;
    let own = File::open("/proc/self/exe").ok()?;
    let mut own_head = [0; 64];
    own.read_exact_at(&mut own_head, 0).ok()?;
    head.strip_prefix(b"\x7fELF")?;
    // Class and byte order; the machine.
    let is_same = head[4..6] == own_head[4..6] && head[18..20] == own_head[18..20];
    if !is_same {
        return Some(Kind::Foreign);
    }
    let size = usize::from(u16_at(&head, 54)?);
    let count = usize::from(u16_at(&head, 56)?);
    if size < 56 || size * count > TABLE_MAX {
        return Some(Kind::Unknown);
    }
    let mut table = vec![0; size * count];
    file.read_exact_at(&mut table, u64_at(&head, 32)?).ok()?;
    let mut has_loader = false;
    for entry in table.chunks_exact(size) {
        match u32_at(entry, 0)? {
            PT_INTERP => has_loader = true,
            PT_NOTE if is_go(file, entry) => return Some(Kind::Go),
            _ => {}
        }
    }
    Some(if has_loader {
        Kind::Dynamic
    } else {
        Kind::Static
    })
}

/// Whether a segment of notes has that of Go's linker.
fn is_go(file: &File, entry: &[u8]) -> bool {
    let Some((at, len)) = u64_at(entry, 8).zip(u64_at(entry, 32)) else {
        return false;
    };
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(NOTE_MAX);
    let mut notes = vec![0; len];
    if file.read_exact_at(&mut notes, at).is_err() {
        return false;
    }
    let mut rest = &notes[..];
    while let Some((name, kind, next)) = note(rest) {
        if (name, kind) == GO_NOTE {
            return true;
        }
        rest = next;
    }
    false
}

/// The name and the type of the first note, and the notes behind it.
fn note(notes: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let aligned = |len: u32| usize::try_from(len).ok()?.checked_next_multiple_of(4);
    let name_len = u32_at(notes, 0)?;
    let name_end = aligned(name_len)?.checked_add(12)?;
    let end = name_end.checked_add(aligned(u32_at(notes, 4)?)?)?;
    let name = notes.get(12..12 + usize::try_from(name_len).ok()?)?;
    Some((name, u32_at(notes, 8)?, notes.get(end..)?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_is_found_and_loads_libraries() {
        let path = check(OsStr::new("sh")).unwrap();
        assert!(path.is_absolute());
        assert_eq!(kind(&path), Kind::Dynamic);
    }

    #[test]
    fn missing_program_has_the_exit_code_of_env() {
        for name in ["no-such-program-of-dccprun", "/no/such/program"] {
            assert_eq!(check(OsStr::new(name)).unwrap_err().code, 127);
        }
        assert_eq!(check(OsStr::new("/etc/passwd")).unwrap_err().code, 126);
    }

    #[test]
    fn file_capabilities_are_privileges_of_all_users_but_root() {
        let path = std::env::temp_dir().join(format!("dccprun-caps-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        assert_eq!(privileges(&path, 1000, 1000), None);
        // Version 2 of the attribute, effective: CAP_NET_RAW permitted.
        let words = [0x0200_0001_u32, 1 << 13, 0, 0, 0].map(u32::to_le_bytes);
        let flags = rustix::fs::XattrFlags::empty();
        let set = rustix::fs::setxattr(&path, CAPABILITIES, words.as_flattened(), flags);
        let found = [1000, 0].map(|user| privileges(&path, user, 1000).map(|(what, _)| what));
        std::fs::remove_file(&path).unwrap();
        if set.is_err() {
            println!("SKIP file_capabilities_are_privileges_of_all_users_but_root: needs root");
            return;
        }
        assert_eq!(found, [Some("has file capabilities"), None]);
    }

    #[test]
    fn notes_of_go_are_recognised_and_broken_ones_end_the_search() {
        let go = [4_u32, 4, 4].map(u32::to_ne_bytes).concat();
        let go = [&go[..], b"Go\0\0", b"abcd"].concat();
        assert_eq!(note(&go), Some((&b"Go\0\0"[..], 4, &b""[..])));
        for len in 0..go.len() {
            assert_eq!(note(&go[..len]), None);
        }
        let endless = [u32::MAX, u32::MAX, 4].map(u32::to_ne_bytes).concat();
        assert_eq!(note(&endless), None);
    }
}
