//! Runs the body of the fuzz target `ring_messages` over its committed corpus.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/ring_messages.rs"]
pub mod ring_messages;

#[test]
fn messages_of_the_corpus_are_rebuilt_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ring_messages");
    let mut messages = [0; 2];
    for file in fs::read_dir(folder).expect("the corpus is in the repository") {
        let path = file.expect("a file of the corpus").path();
        println!("{}", path.display());
        let data = fs::read(path).expect("a file of the corpus");
        ring_messages::run(&data);
        let rebuilt = dccp_ring_ipc::message::rebuilt(&data);
        for (count, rebuilt) in messages.iter_mut().zip(rebuilt) {
            *count += usize::from(rebuilt.is_some());
        }
    }
    assert!(
        messages.iter().all(|&n| n >= 5),
        "{messages:?} of each kind"
    );
}
