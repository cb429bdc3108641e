//! "did you mean …?" for mistyped names.

use super::name::Name;

/// `; did you mean …?` if one of the candidates is near, or the list of all candidates.
pub(crate) fn did_you_mean<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    match nearest(typed, candidates.clone()) {
        Some(near) => format!("; did you mean `{}`?", Name(near)),
        None => among(candidates),
    }
}

/// `; there are …`, or an empty text if there are none.
fn among<'a>(candidates: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<String> = candidates
        .into_iter()
        .map(|it| format!("`{}`", Name(it)))
        .collect();
    match &*all {
        [] => String::new(),
        all => format!("; there are {}", all.join(", ")),
    }
}

/// The candidate nearest to `typed`, if its distance is small enough.
fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance takes time in proportion to the product of the lengths. A longer name
    // is not a mistyped one.
    const LONGEST: usize = 256;
    if typed.len() > LONGEST {
        return None;
    }
    // One error in three letters: `tll` finds `ttl`, but `foo` finds nothing.
    let allowed = typed.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::levenshtein(typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
