//! "did you mean …?" for mistyped names.

/// The candidate nearest to `typed`, if its distance is small enough.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // One error in three letters is allowed: `tll` finds `ttl`, but `foo` finds nothing.
    let allowed = typed.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::levenshtein(typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed && *distance < typed.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Names in backticks, joined by commas.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_near_names_are_suggested() {
        let known = ["resource", "ttl", "retry_count", "retry_delay"];
        assert_eq!(nearest("resouce", known), Some("resource"));
        assert_eq!(nearest("retries_delay", known), Some("retry_delay"));
        assert_eq!(nearest("retryCount", known), Some("retry_count"));
        assert_eq!(nearest("foo", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("a", ["b", "id"]), None);
        assert_eq!(nearest("ix", ["b", "id"]), Some("id"));
    }
}
