//! The list to which every phase adds its errors, so that one build shows all of them.

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

    /// One `compile_error!` for each error, or `None` if there are no errors.
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
