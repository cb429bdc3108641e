//! The list of errors, and suggestions for mistyped names.
//!
//! Every phase adds its errors to the list, so that one build shows all of them.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// Errors in the order in which they were found.
#[derive(Default)]
pub(crate) struct Errors {
    all: Option<syn::Error>,
}

impl Errors {
    /// Reports an error at one token.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Reports an error at the whole span of `tokens`.
    pub(crate) fn under(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Adds an error that syn returned.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.all {
            Some(all) => all.combine(error),
            None => self.all = Some(error),
        }
    }

    pub(crate) fn has_any(&self) -> bool {
        self.all.is_some()
    }

    /// Returns a `compile_error!` for each error, or `None` for an empty list.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.all.map(syn::Error::into_compile_error)
    }

    /// Returns the messages, for tests.
    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.all.map_or_else(Vec::new, |all| {
            all.into_iter().map(|e| e.to_string()).collect()
        })
    }
}

/// Returns the candidate nearest to `typed`, if their edit distance is small enough.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Allow one error for each three letters: `tll` finds `ttl`, but `foo` finds no name.
    let allowed = typed.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::levenshtein(typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed && *distance < typed.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the names in backticks, joined by commas.
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
