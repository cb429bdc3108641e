//! What of a URL may be shown.

const LONGEST_SCHEME: usize = 16;

/// What may be shown of a URL that makes no sense: the scheme. Where it goes wrong, it cannot be told
/// what is a host and what is a piece of a password, with a `#` or a `/` in it.
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

/// Whether the part that names the host may be a piece of a password: `redis://user:12#34@host` is a
/// host called `user` to the letter of the standard.
pub(super) fn may_be_split_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let after = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
    after.contains('@') || after.contains('#')
}
