//! The parts of a URL that may be shown.

const LONGEST_SCHEME: usize = 16;

/// The part of an invalid URL that may be shown: the scheme. In the rest, a host cannot be told from a
/// piece of a password with a `#` or a `/` in it.
pub(super) fn redacted(url: &str) -> String {
    let is_of_a_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    match url.split_once("://") {
        Some((scheme, _))
            if scheme.len() <= LONGEST_SCHEME && scheme.chars().all(is_of_a_scheme) =>
        {
            format!("{scheme}://…")
        }
        _ => "…".to_owned(),
    }
}

/// True if the host may be a piece of a password: by the standard, `redis://user:12#34@host` is a host
/// called `user`.
pub(super) fn may_be_split_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let after = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
    after.contains('@') || after.contains('#')
}
