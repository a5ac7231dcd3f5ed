//! Pictures of a film, as MPEG codes them: many small ones that build on few large ones.

use super::Stamp;
use core::time::Duration;

/// A film: a pattern of pictures that repeats, each cut into datagrams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frames {
    /// One letter for each picture: `I`, `P` or `B`, such as `IBBPBBPBBPBB`.
    pub pattern: String,
    /// Time from one picture to the next.
    pub interval: Duration,
    /// Bytes of an I, a P and a B picture.
    pub sizes: [usize; 3],
    /// Bytes of a datagram at most.
    pub datagram: usize,
    /// How many pictures.
    pub count: u64,
}

/// A part of a picture that fills a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// The number of the picture.
    pub(crate) picture: u64,
    pub(crate) len: usize,
    /// 2: I, which the others need; 1: P; 0: B, which none needs.
    pub(crate) class: u8,
}

impl Frames {
    /// How many bytes of a picture, and its class.
    fn picture(&self, number: u64) -> (usize, u8) {
        let letters = self.pattern.as_bytes();
        let place = usize::try_from(number % (letters.len().max(1) as u64)).unwrap_or(0);
        match letters.get(place) {
            Some(b'I') => (self.sizes[0], 2),
            Some(b'P') => (self.sizes[1], 1),
            _ => (self.sizes[2], 0),
        }
    }

    /// The part of a picture that begins at this byte, if the film goes so far. The last part has room for a stamp,
    /// however little is left of the picture.
    pub(crate) fn part(&self, picture: u64, from: usize) -> Option<Part> {
        if picture >= self.count {
            return None;
        }
        let (size, class) = self.picture(picture);
        let rest = size.saturating_sub(from);
        (rest > 0).then_some(Part {
            picture,
            len: rest.min(self.datagram).max(Stamp::LEN),
            class,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_cut_into_datagrams() {
        let film = Frames {
            pattern: "IBP".into(),
            interval: Duration::from_millis(40),
            sizes: [2500, 1000, 300],
            datagram: 1000,
            count: 4,
        };
        let parts = |picture| {
            let lens = (0..)
                .step_by(1000)
                .map_while(|from| film.part(picture, from));
            lens.map(|p| (p.len, p.class)).collect::<Vec<_>>()
        };
        assert_eq!(parts(0), [(1000, 2), (1000, 2), (500, 2)]);
        assert_eq!(parts(1), [(300, 0)]);
        assert_eq!(parts(2), [(1000, 1)]);
        assert_eq!(parts(3), parts(0));
        assert_eq!(parts(4), []);
        // One byte is left of the picture.
        let last = Frames {
            sizes: [1001; 3],
            ..film.clone()
        }
        .part(0, 1000);
        assert_eq!(last.map(|part| part.len), Some(Stamp::LEN));
    }
}
