//! What two processes say to each other beside a ring.

use dccp::ring_message_told_again;

/// The longest message that a channel takes.
const LONGEST: usize = 256;

/// `data` are a message, perhaps: to the server, to an application, or none. What is one is told again: to the server
/// in the same bytes, since each has one meaning; to an application in the same sense, since texts are clipped.
///
/// # Panics
/// If it is not.
pub fn run(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST)];
    let [ask, tell] = ring_message_told_again(data);
    if let Some(ask) = ask {
        assert_eq!(ask, data);
    }
    if let Some(tell) = tell {
        assert!(tell.len() <= LONGEST);
        let [_, again] = ring_message_told_again(&tell);
        assert_eq!(again.as_ref(), Some(&tell));
    }
}
