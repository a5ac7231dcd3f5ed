//! Runs the fuzz targets' bodies over their committed corpus.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/connection/mod.rs"]
pub mod connection;
#[path = "../../../fuzz/src/messages.rs"]
pub mod messages;
#[path = "../../../fuzz/src/options.rs"]
pub mod options;
#[path = "../../../fuzz/src/packet.rs"]
pub mod packet;

/// Calls `run` with every file of a target's corpus, and says how many there were.
fn run_all(target: &str, run: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let files = fs::read_dir(folder).expect("the corpus is in the repository");
    let paths: Vec<_> = files
        .map(|file| file.expect("a file of the corpus").path())
        .collect();
    for path in &paths {
        println!("{}", path.display());
        run(&fs::read(path).expect("a file of the corpus"));
    }
    paths.len()
}

#[test]
fn packets_of_the_corpus_parse_and_rebuild() {
    // 4340-3.1-3, 4340-8.5-1
    assert!(run_all("packet", packet::run) >= 20);
}

#[test]
fn options_of_the_corpus_decode_and_encode() {
    // 4340-5.8-2, 4340-5.8-5
    assert!(run_all("options", options::run) >= 20);
}

#[test]
fn conversations_of_the_corpus_break_nothing() {
    // 4340-8.5-1; every bound and promise that fuzz/src/connection/end.rs watches.
    assert!(run_all("connection", connection::run) >= 100);
}

#[test]
fn fragments_of_the_corpus_stay_within_the_limits() {
    assert!(run_all("messages", messages::run) >= 10);
}
