//! The measuring program.

fn main() {}
