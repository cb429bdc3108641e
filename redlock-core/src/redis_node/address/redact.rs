//! What of a URL may be shown.

/// The URL without what may be a secret: everything before the last `@`, and the query.
pub(super) fn redacted(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (credentials, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    let place = crate::resource::Shown(place.as_bytes());
    let hidden = if credentials.is_empty() { "" } else { "…@" };
    if scheme.is_empty() {
        format!("{hidden}{place}")
    } else {
        format!("{scheme}://{hidden}{place}")
    }
}
