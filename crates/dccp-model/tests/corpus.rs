//! Runs the fuzz target `pair` over its stored corpus and over random inputs.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/pair.rs"]
pub mod pair;

/// Number of random inputs.
const INPUTS: u64 = 500;
/// Bytes of the longest random input.
const LENGTH_MAX: u64 = 100;

#[test]
fn conversations_of_the_corpus_keep_every_property() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/pair");
    let files = fs::read_dir(folder).expect("the corpus is in the repository");
    let mut count = 0;
    for file in files {
        let path = file.expect("a file of the corpus").path();
        println!("{}", path.display());
        pair::run(&fs::read(path).expect("a file of the corpus"));
        count += 1;
    }
    assert!(count >= 60, "only {count} files");
}

#[test]
fn random_conversations_keep_every_property() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed: u64 = number("MODEL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let inputs = number("MODEL_INPUTS").unwrap_or(INPUTS);
    println!(
        "MODEL_SEED={seed} MODEL_INPUTS={inputs} cargo test -p dccp-model --test corpus random"
    );
    let mut state = seed << 1 | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..inputs {
        let length = 2 + random() % (LENGTH_MAX - 1);
        let input: Vec<u8> = (0..length).map(|_| random().to_le_bytes()[3]).collect();
        println!("{input:?}");
        pair::run(&input);
    }
}
