//! "did you mean …?" for names typed by hand.

use super::name::Name;

/// `; did you mean …?` where one of the candidates is near, or else which there are.
pub(crate) fn did_you_mean<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    match nearest(typed, candidates.clone()) {
        Some(near) => format!("; did you mean `{}`?", Name(near)),
        None => among(candidates),
    }
}

/// `; there are …`, or nothing where there are none.
fn among<'a>(candidates: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let all: Vec<String> = candidates
        .into_iter()
        .map(|it| format!("`{}`", Name(it)))
        .collect();
    match all.len() {
        0 => String::new(),
        1..=MOST => format!("; there are {}", all.join(", ")),
        count => format!(
            "; there are {}, and {} more",
            all[..MOST].join(", "),
            count - MOST
        ),
    }
}

/// The candidate nearest to `typed`, where one is near enough to be worth naming.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // The distance takes time by the product of the lengths; nobody mistypes a longer one.
    const LONGEST: usize = 256;
    if typed.len() > LONGEST {
        return None;
    }
    // One slip in three letters: `tll` finds `ttl`, yet `foo` finds nothing.
    let allowed = typed.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::levenshtein(typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
