//! What the expansion says of the declared return type.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Ident;

use crate::function::Function;
use crate::lifetimes::erase_lifetimes;
use crate::output::{could_skip, erase_impl_trait, response};
use crate::plan::IfLocked;

/// The declared return type, as the hints and the trait call repeat it.
pub(crate) struct Output {
    pub(crate) ty: TokenStream,
    /// The type with its place in the source and the macro's hygiene: errors point at the type, but
    /// lints for hand-written code ignore it.
    pub(crate) span: Span,
    /// True for a type that `if_locked = "skip"` allows. Such a type's error mentions this.
    could_skip: bool,
    /// The module of the runtime with the traits for `impl IntoResponse` or `impl Responder`.
    response: Option<&'static str>,
}

impl Output {
    pub(crate) fn of(function: &Function) -> Self {
        let span = Span::mixed_site().located_at(function.output_span());
        let ty = function.output.as_ref().map_or_else(
            || quote_spanned!(span=> ()),
            |ty| {
                let ty = erase_impl_trait(ty).into_token_stream();
                erase_lifetimes(ty, &function.signature.generics)
            },
        );
        let could_skip = function.output.as_ref().is_none_or(could_skip);
        Self {
            ty,
            span,
            could_skip,
            response: function.output.as_ref().and_then(response),
        }
    }

    /// For a handler that returns `impl IntoResponse` or `impl Responder`: the body's value becomes an
    /// answer, unless it can carry a lock error itself.
    pub(crate) fn answering(
        &self,
        if_locked: Option<IfLocked>,
        private: &TokenStream,
    ) -> Option<TokenStream> {
        let module = self
            .response
            .filter(|_| if_locked != Some(IfLocked::Skip))?;
        let module = Ident::new(module, Span::mixed_site());
        Some(quote_spanned! {Span::mixed_site()=>
            let __choice = {
                use #private::#module::*;
                (&&&#private::Probe::of(&__body)).choose()
            };
            let __body = __choice.wrap(__body);
        })
    }

    /// `<Ret as FromLockError>::from_lock_error` and `::is_success`, or their counterparts for calls
    /// that may be skipped, with the span of the return type. If the type cannot carry a lock error,
    /// the error appears at the return type.
    pub(crate) fn trait_calls(
        &self,
        if_locked: Option<IfLocked>,
        private: &TokenStream,
    ) -> (TokenStream, TokenStream) {
        let Self { ty, span, .. } = self;
        if if_locked == Some(IfLocked::Skip) {
            return (
                quote_spanned!(*span=> <#ty as #private::FromSkip>::from_refusal),
                quote_spanned!(*span=> <#ty as #private::FromSkip>::is_success),
            );
        }
        let carries = if self.response.is_some() {
            quote!(FromLockErrorOrAnswer)
        } else if self.could_skip {
            quote!(FromLockErrorOrSkips)
        } else {
            quote!(FromLockError)
        };
        (
            quote_spanned!(*span=> <#ty as #private::#carries>::from_lock_error),
            quote_spanned!(*span=> <#ty as #private::#carries>::is_success),
        )
    }
}
