//! Rules of ns-2's TFRC that may stand for those of RFC 5348, for comparisons with it.

use crate::cc::law::settings::{LawError, Settings, settings, split_options, yes_no};
use core::str::FromStr;

settings! {
    /// In which rules CCID 3 is as ns-2's TFRC, not as RFC 5348: none, unless chosen otherwise. As text:
    /// `key=value,…`.
    ///
    /// ```
    /// use dccp_proto::cc::ccid3::rules::Rules;
    /// let rules: Rules = "coarse_first=yes,old_start=yes".parse()?;
    /// assert!(rules.coarse_first && rules.old_start && !rules.empty_intervals);
    /// # Ok::<(), dccp_proto::cc::law::settings::LawError>(())
    /// ```
    pub struct Rules {
        /// The mean loss interval is always that of eight, of which those that have not been yet are empty, and
        /// nothing is discounted (not RFC 5348 §5.4, §5.5). After the first loss event the rate is 0.4 of what it
        /// should be.
        empty_intervals: bool = false, yes_no;
        /// The first loss interval is the first that a search by halving finds within 5 % of the receive rate of the
        /// last round trip by window counters (not that of the highest receive rate, RFC 5348 §6.3.1): a power of
        /// two over a small number, up to a quarter away.
        coarse_first: bool = false, yes_no;
        /// Slow start is that of RFC 3448: nothing is known of the round trip before the first feedback, and then it
        /// begins with one packet per round trip; nothing damps it. The rate is twice the last receive rate at most,
        /// which is measured over the last round trip by window counters.
        old_start: bool = false, yes_no;
    }
}

impl FromStr for Rules {
    type Err = LawError;

    fn from_str(text: &str) -> Result<Self, LawError> {
        let mut rules = Self::default();
        for (key, value) in split_options(text)? {
            if !rules.keys().contains(&key) {
                return Err(LawError::unknown("rule of CCID 3", key, rules.keys()));
            }
            rules
                .set(key, value)
                .map_err(|allowed| LawError::not_allowed(key, value, &allowed))?;
        }
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_by_their_names() {
        let read = |text: &str| text.parse::<Rules>().map_err(|e| e.to_string());
        let one = Rules {
            coarse_first: true,
            ..Rules::default()
        };
        assert_eq!(read("coarse_first=yes"), Ok(one));
        let all = Rules {
            empty_intervals: true,
            old_start: true,
            ..one
        };
        let text = "empty_intervals=yes,coarse_first=yes,old_start=yes";
        assert_eq!(read(text), Ok(all));
        assert_eq!(read("old_start=no"), Ok(Rules::default()));
        assert_eq!(read(""), Ok(Rules::default()));
        for (text, error) in [
            (
                "old_strat=yes",
                "old_strat: there is no such rule of CCID 3; did you mean old_start?",
            ),
            ("old_start=1", "old_start=1: not allowed; write yes or no"),
            (
                "old_start",
                "old_start: an option has a value; write old_start=VALUE",
            ),
            (
                "old_start=yes,coarse_first=yes,old_start=no",
                "old_start is given twice, as yes and as no; write it once: old_start=no",
            ),
        ] {
            assert_eq!(read(text), Err(error.to_owned()));
        }
    }
}
