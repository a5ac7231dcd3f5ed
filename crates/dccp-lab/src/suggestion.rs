//! Suggestions for words that are none of the known ones.

/// Suggests the nearest known word, or lists all.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("choose one of {}", known.join(", ")),
    }
}

/// The known word with the fewest differing letters, if those are at most about a third.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() + 1) / 3;
    let distance = |known: &&str| strsim::osa_distance(word, known);
    known
        .iter()
        .copied()
        .min_by_key(distance)
        .filter(|near| distance(near) <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestion_names_near_words_only() {
        let known = ["queue", "rate", "delay"];
        assert_eq!(suggestion("qeue", &known), "did you mean queue?");
        assert_eq!(suggestion("rat", &known), "did you mean rate?");
        assert_eq!(suggestion("raet", &known), "did you mean rate?");
        let all = "choose one of queue, rate, delay";
        assert_eq!(suggestion("colour", &known), all);
    }
}
