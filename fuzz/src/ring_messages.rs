//! Messages between two processes that share a ring.

use dccp_ring_ipc::message::rebuilt;

/// The longest message that a channel takes.
const LONGEST: usize = 256;

/// Parses `data` as a message to the server and to an application, and encodes the result again.
///
/// The encoded message is parsed and encoded to itself. A message to the server keeps its bytes, except that a
/// repeated Service Code is dropped. A message to an application keeps its meaning, because texts are clipped.
///
/// # Panics
/// If a message changes.
pub fn run(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST)];
    let [ask, tell] = rebuilt(data);
    if let Some(ask) = ask {
        assert!(ask == data || ask.len() < data.len());
        let [again, _] = rebuilt(&ask);
        assert_eq!(again.as_ref(), Some(&ask));
    }
    if let Some(tell) = tell {
        assert!(tell.len() <= LONGEST);
        let [_, again] = rebuilt(&tell);
        assert_eq!(again.as_ref(), Some(&tell));
    }
}
