//! The list that every phase adds its complaints to, so that one build shows them all.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// Complaints collected so far, in the order they were found.
#[derive(Default)]
pub(crate) struct Errors {
    all: Option<syn::Error>,
}

impl Errors {
    /// Complains at one token.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Complains under everything that `tokens` covers.
    pub(crate) fn under(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Takes over an error that syn made.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.all {
            Some(all) => all.combine(error),
            None => self.all = Some(error),
        }
    }

    /// One `compile_error!` for each complaint, or `None` where there is none.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.all.map(syn::Error::into_compile_error)
    }

    /// The messages, for tests.
    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.all.map_or_else(Vec::new, |all| {
            all.into_iter().map(|e| e.to_string()).collect()
        })
    }
}
