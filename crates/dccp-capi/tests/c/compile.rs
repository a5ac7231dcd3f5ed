//! Compiles programs against the header and the library.

use crate::header::folder;
use dccp_dev::shell::{self, command, find_program};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The compiler, or a line that says why a test does not run.
pub(crate) fn compiler(test: &str, name: &str) -> Option<PathBuf> {
    let found = find_program(name);
    if found.is_none() {
        println!("SKIP {test}: needs {name}");
    }
    found
}

/// The folder of the shared and the static library, built once.
pub(crate) fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        dccp_dev::libdccp::build(target, false).unwrap()
    })
}

/// Compiles a source file of the crate, with further arguments of the compiler. Returns the program.
pub(crate) fn compile(compiler: &Path, source: &str, name: &str, more: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = command(&[compiler]);
    cc.args(WARNINGS).args(["-g", "-I"]);
    cc.arg(folder().join("include"));
    cc.arg(folder().join(source)).arg("-o").arg(&program);
    shell::output(cc.args(more)).unwrap();
    program
}

/// Arguments that link the shared library, and let the program find it.
pub(crate) fn shared() -> Vec<String> {
    let folder = library().display();
    vec![
        format!("-L{folder}"),
        "-ldccp".into(),
        format!("-Wl,-rpath,{folder}"),
    ]
}
