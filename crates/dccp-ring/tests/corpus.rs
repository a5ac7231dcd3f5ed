//! Runs the body of the fuzz target `ring` over its committed corpus.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/ring.rs"]
pub mod ring;

#[test]
fn attacks_of_the_corpus_harm_neither_side() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ring");
    let files = fs::read_dir(folder).expect("the corpus is in the repository");
    let mut attacks = 0;
    for file in files {
        let path = file.expect("a file of the corpus").path();
        println!("{}", path.display());
        ring::run(&fs::read(path).expect("a file of the corpus"));
        attacks += 1;
    }
    assert!(attacks >= 20);
}
