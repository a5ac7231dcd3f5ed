//! Names the shared library as dynamic linkers expect it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Raise the number when a function or struct of the header changes incompatibly.
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libdccp.so.0");
    }
}
