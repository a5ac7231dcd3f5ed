//! Runs the body of the fuzz target `ring_messages` over its committed corpus.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/ring_messages.rs"]
pub mod ring_messages;

#[test]
fn messages_of_the_corpus_are_told_again_as_they_were_meant() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ring_messages");
    let mut messages = [0; 2];
    for file in fs::read_dir(folder).expect("the corpus is in the repository") {
        let path = file.expect("a file of the corpus").path();
        println!("{}", path.display());
        let data = fs::read(path).expect("a file of the corpus");
        ring_messages::run(&data);
        let told = dccp::ring_message_told_again(&data);
        for (count, told) in messages.iter_mut().zip(told) {
            *count += usize::from(told.is_some());
        }
    }
    assert!(
        messages.iter().all(|&n| n >= 5),
        "{messages:?} of each kind"
    );
}
