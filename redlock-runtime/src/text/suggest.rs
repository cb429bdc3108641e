//! Suggests the right name for a mistyped one: "did you mean …?".

use super::name::ShownName;

/// Returns a suggestion that names the nearest candidate. If none is near, it lists all of them.
pub(crate) fn did_you_mean<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    if let Some(near) = nearest(typed, candidates.clone()) {
        return format!("; did you mean `{}`?", ShownName(near));
    }
    let all = candidates
        .into_iter()
        .map(|it| format!("`{}`", ShownName(it)));
    match &*all.collect::<Vec<_>>() {
        [] => String::new(),
        all => format!("; there are {}", all.join(", ")),
    }
}

/// Returns the candidate nearest to `typed`, if its distance is small enough.
fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Allow one typo for every three letters: `tll` finds `ttl`, but `foo` finds nothing.
    let allowed = typed.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::levenshtein(typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
