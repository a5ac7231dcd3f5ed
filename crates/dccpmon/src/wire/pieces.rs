//! Lines of a JSON stream on a control connection: a long one is cut into pieces that fit into a message.

use serde::{Deserialize, Serialize};

/// The longest line in bytes. The document of a test with 32 flows has a tenth of that.
pub(crate) const LINE_MAX: usize = 8 << 20;
/// Bytes of a piece. As a JSON text it can take twice as much, because quotation marks are escaped, and so fits into a
/// message.
const PIECE_MAX: usize = 16 << 10;

/// A piece of a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// Whether the line ends here.
    pub(crate) is_last: bool,
}

/// Cuts a line into pieces.
pub(crate) fn cut(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = line;
    loop {
        let (text, after) = rest.split_at(rest.floor_char_boundary(PIECE_MAX));
        let is_last = after.is_empty();
        let text = text.to_owned();
        pieces.push(Piece { text, is_last });
        if is_last {
            return pieces;
        }
        rest = after;
    }
}

/// A line is longer than [`LINE_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooLong;

/// Joins pieces to lines.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    line: String,
}

impl Joiner {
    /// Adds a piece. Returns the line that it ends.
    ///
    /// # Errors
    /// The line is too long.
    pub(crate) fn add(&mut self, piece: &Piece) -> Result<Option<String>, TooLong> {
        if self.line.len() + piece.text.len() > LINE_MAX {
            return Err(TooLong);
        }
        self.line += &piece.text;
        Ok(piece.is_last.then(|| core::mem::take(&mut self.line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_their_line() {
        for line in [String::new(), "{}".into(), "ä\"".repeat(3 * PIECE_MAX)] {
            let pieces = cut(&line);
            assert!(pieces.iter().all(|piece| piece.text.len() <= PIECE_MAX));
            let mut joiner = Joiner::default();
            let (last, others) = pieces.split_last().unwrap();
            for piece in others {
                assert_eq!(joiner.add(piece), Ok(None));
            }
            assert_eq!(joiner.add(last), Ok(Some(line)));
        }
    }

    #[test]
    fn line_has_a_greatest_length() {
        let mut joiner = Joiner::default();
        let piece = Piece {
            text: "x".repeat(LINE_MAX / 2),
            is_last: false,
        };
        assert_eq!(joiner.add(&piece), Ok(None));
        assert_eq!(joiner.add(&piece), Ok(None));
        assert_eq!(joiner.add(&piece), Err(TooLong));
    }
}
