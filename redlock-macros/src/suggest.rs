//! "did you mean …?" for names typed by hand.

/// The candidate nearest to `typed`, where one is near enough to be worth naming.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // One slip in three letters: `tll` finds `ttl`, yet `foo` finds nothing.
    let allowed = typed.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (distance(typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The Levenshtein distance between two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

/// Names in backticks, joined by commas.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn slips_are_counted() {
        let table = [
            ("ttl", "ttl", 0),
            ("tll", "ttl", 1),
            ("", "abc", 3),
            ("pool", "pools", 1),
        ];
        for (a, b, expected) in table {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn only_near_names_are_suggested() {
        let known = ["resource", "ttl", "retry_count", "retry_delay"];
        assert_eq!(nearest("resouce", known), Some("resource"));
        assert_eq!(nearest("retries_delay", known), Some("retry_delay"));
        assert_eq!(nearest("retryCount", known), Some("retry_count"));
        assert_eq!(nearest("foo", known), None);
        assert_eq!(nearest("", known), None);
    }
}
