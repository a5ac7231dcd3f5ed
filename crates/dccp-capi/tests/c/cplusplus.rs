//! The wrapper for C++, `include/dccp.hpp`.

use crate::compile::{compile, compiler, shared};
use dccp_dev::shell::{command, output};

#[test]
fn wrapper_works_and_frees_what_it_holds() {
    let Some(cxx) = compiler("wrapper_works_and_frees_what_it_holds", "g++") else {
        return;
    };
    let shared = shared();
    let mut more: Vec<&str> = shared.iter().map(String::as_str).collect();
    more.extend(["-std=c++17", "-Wconversion", "-fsanitize=address,undefined"]);
    let program = compile(&cxx, "tests/c/wrapper.cpp", "wrapper", &more);
    output(&mut command(&[program])).unwrap();
}

#[test]
fn header_is_valid_in_each_language_version() {
    let test = "header_is_valid_in_each_language_version";
    for (name, versions) in [
        ("cc", ["-std=c99", "-std=c17"]),
        ("g++", ["-std=c++11", "-std=c++20"]),
    ] {
        let Some(compiler) = compiler(test, name) else {
            return;
        };
        for version in versions {
            let more = [version, "-fsyntax-only"];
            compile(&compiler, "include/dccp.h", "header", &more);
        }
    }
}
