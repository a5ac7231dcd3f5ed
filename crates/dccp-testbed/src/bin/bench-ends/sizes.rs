//! How large datagrams are.

use std::str::FromStr;

/// One size, or any from one to another (a variable bit rate), the same ones in every run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    least: usize,
    pub(crate) most: usize,
}

impl FromStr for Sizes {
    type Err = &'static str;

    /// `1400` or `64-1400`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        match (least.parse(), most.parse()) {
            (Ok(least), Ok(most)) if least <= most => Ok(Self { least, most }),
            _ => Err("write bytes as 1400 or 64-1400"),
        }
    }
}

impl Sizes {
    /// Whether all are the same.
    pub(crate) fn is_one(self) -> bool {
        self.least == self.most
    }

    /// The sizes of one batch.
    pub(crate) fn batch<const N: usize>(self) -> [usize; N] {
        // Steps of the golden section fill an interval evenly.
        let span = self.most - self.least + 1;
        std::array::from_fn(|n| self.least + n * 618 % 1000 * span / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fill_their_interval() {
        let sizes: Sizes = "64-1400".parse().unwrap();
        let batch: [usize; 64] = sizes.batch();
        assert!(batch.iter().all(|size| (64..=1400).contains(size)));
        let mean = batch.iter().sum::<usize>() / 64;
        assert!((700..=760).contains(&mean), "{mean}");
        assert_eq!("9".parse::<Sizes>().unwrap().batch::<4>(), [9; 4]);
        assert!("9-8".parse::<Sizes>().is_err());
    }
}
