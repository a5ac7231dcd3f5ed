//! The C examples against each other on loopback: as they are, under valgrind, and with the sanitizers.

use crate::compile::{compile, compiler, library, shared};
use dccp_dev::shell::{Background, command, find_program, output};
use std::path::{Path, PathBuf};

/// Leaks that no pointer reaches. The engine's thread lives until the end, and with it hash tables to which it has
/// only pointers into their middle, which valgrind calls possibly lost.
pub(crate) const VALGRIND: [&str; 6] = [
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect",
    "--errors-for-leak-kinds=definite,indirect",
];

/// The programs, and the words before them.
struct Examples {
    programs: [PathBuf; 4],
    before: &'static [&'static str],
}

impl Examples {
    /// Compiles them under names of their own.
    fn compile(cc: &Path, suffix: &str, more: &[&str], before: &'static [&'static str]) -> Self {
        let programs = ["echo", "epoll_server", "video_sender", "messages"].map(|name| {
            let arguments: Vec<&str> = ["-std=c11"].iter().chain(more).copied().collect();
            let source = format!("examples/{name}.c");
            compile(cc, &source, &format!("{name}-{suffix}"), &arguments)
        });
        Self { programs, before }
    }

    fn line(&self, index: usize, arguments: &[&str]) -> Vec<String> {
        let program = self.programs[index].display().to_string();
        let words = self.before.iter().map(|word| (*word).to_owned());
        let arguments = arguments.iter().map(|word| (*word).to_owned());
        words.chain([program]).chain(arguments).collect()
    }

    /// Starts a server. Returns it with its address.
    fn serve(&self, index: usize, arguments: &[&str]) -> (Background, String) {
        let command = command(&self.line(index, arguments));
        Background::start_with_line(command, "listening at ").unwrap()
    }

    fn run(&self, index: usize, arguments: &[&str]) -> String {
        output(&mut command(&self.line(index, arguments))).unwrap()
    }

    /// A client of each kind, and the servers, which end by themselves.
    fn talk(&self, frames: &str) {
        const ECHO: usize = 0;
        const EPOLL: usize = 1;
        const VIDEO: usize = 2;
        const MESSAGES: usize = 3;
        let any = "127.0.0.1:0/0";
        let (server, address) = self.serve(ECHO, &["serve", any, "1"]);
        let said = self.run(ECHO, &["ask", &address, "50"]);
        assert!(said.starts_with("50 of 50 came back"), "{said}");
        server.finish().unwrap();

        let (server, address) = self.serve(EPOLL, &[any, "2"]);
        let said = self.run(VIDEO, &[&address, frames]);
        assert!(said.contains("datagrams: acked"), "{said}");
        self.run(ECHO, &["ask", &address, "0"]);
        let said = server.finish().unwrap();
        assert_eq!(said.matches("closed by the peer").count(), 2, "{said}");

        let (receiver, address) = self.serve(MESSAGES, &["receive", any]);
        let said = self.run(MESSAGES, &["send", &address, "20", "60000"]);
        assert!(said.contains("pictures: acked"), "{said}");
        let said = receiver.finish().unwrap();
        assert!(said.contains(" pictures"), "{said}");
    }
}

pub(crate) fn as_words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn examples_work_with_the_shared_library() {
    let Some(cc) = compiler("examples_work_with_the_shared_library", "cc") else {
        return;
    };
    Examples::compile(&cc, "shared", &as_words(&shared()), &[]).talk("200");
}

#[test]
fn examples_work_with_the_static_library() {
    let Some(cc) = compiler("examples_work_with_the_static_library", "cc") else {
        return;
    };
    let library = library().join("libdccp.a").display().to_string();
    let more = [&library, "-lpthread", "-ldl", "-lm"];
    Examples::compile(&cc, "static", &more, &[]).talk("50");
}

#[test]
fn examples_have_no_error_under_valgrind() {
    let test = "examples_have_no_error_under_valgrind";
    let Some(cc) = compiler(test, "cc") else {
        return;
    };
    if find_program("valgrind").is_none() {
        println!("SKIP {test}: needs valgrind");
        return;
    }
    Examples::compile(&cc, "valgrind", &as_words(&shared()), &VALGRIND).talk("100");
}

#[test]
fn examples_have_no_error_with_address_sanitizer() {
    let test = "examples_have_no_error_with_address_sanitizer";
    let Some(cc) = compiler(test, "cc") else {
        return;
    };
    let shared = shared();
    let mut more = as_words(&shared);
    more.extend(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    Examples::compile(&cc, "sanitized", &more, &[]).talk("200");
}

#[test]
fn child_of_fork_cannot_use_the_sockets_of_its_parent() {
    let test = "child_of_fork_cannot_use_the_sockets_of_its_parent";
    let Some(cc) = compiler(test, "cc") else {
        return;
    };
    let shared = shared();
    let mut more = as_words(&shared);
    more.push("-std=c11");
    let program = compile(&cc, "tests/c/fork.c", "fork", &more);
    output(&mut command(&[program])).unwrap();
}

#[test]
fn program_of_the_guide_compiles() {
    let Some(cc) = compiler("program_of_the_guide_compiles", "cc") else {
        return;
    };
    let guide = include_str!("../../../../docs/c-api.md");
    let program = guide.split("```c\n").nth(1).unwrap();
    let program = program.split("```").next().unwrap();
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide.c");
    std::fs::write(&source, program).unwrap();
    let source = source.display().to_string();
    compile(&cc, &source, "guide", &["-std=c11", "-fsyntax-only"]);
}

#[test]
fn shared_library_has_its_name_and_exports_the_header_only() {
    let test = "shared_library_has_its_name_and_exports_the_header_only";
    if find_program("readelf").is_none() {
        println!("SKIP {test}: needs readelf");
        return;
    }
    let library = library().join("libdccp.so");
    let dynamic = output(command(&["readelf", "--dynamic", "--wide"]).arg(&library)).unwrap();
    assert!(
        dynamic.contains("Library soname: [libdccp.so.0]"),
        "{dynamic}"
    );
    let symbols = output(command(&["readelf", "--dyn-syms", "--wide"]).arg(&library)).unwrap();
    let header = include_str!("../../include/dccp.h");
    let mut count = 0;
    for line in symbols.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, _, _, "FUNC" | "OBJECT", "GLOBAL", _, section, name] = words[..]
            && section != "UND"
        {
            assert!(
                header.contains(&format!("{name}(")),
                "{name} is not in the header"
            );
            count += 1;
        }
    }
    assert_eq!(
        count,
        header.matches(");\n").count(),
        "functions of the header"
    );
}
