//! What the expansion says of the declared return type.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{GenericArgument, Generics, Ident, PathArguments, Type, TypePath};

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
    generic: Option<GenericResult>,
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
            generic: function
                .output
                .as_ref()
                .and_then(|ty| GenericResult::of(ty, &function.signature.generics)),
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
                (&&&#private::Probe::of(&__body)).__redlock_choose()
            };
            let __body = __choice.wrap(__body);
        })
    }

    /// What the call returns without a lock, and whether a value is a success: the functions of
    /// `<Ret as FromLockError>`, or their counterparts for calls that may be skipped, with the span of the
    /// return type. If the type cannot carry a lock error, the error appears at the return type.
    pub(crate) fn answers(
        &self,
        if_locked: Option<IfLocked>,
        private: &TokenStream,
    ) -> TokenStream {
        let Self { ty, span, .. } = self;
        let skips = if_locked == Some(IfLocked::Skip);
        let (refused, is_success) = if let Some(generic) = &self.generic {
            generic.answers(skips, *span, private)
        } else if skips {
            (
                quote_spanned!(*span=> <#ty as #private::FromSkip>::from_refusal),
                quote_spanned!(*span=> <#ty as #private::FromSkip>::is_success),
            )
        } else {
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
        };
        quote_spanned! {Span::mixed_site()=>
            &#private::Answers { refused: #refused, is_success: #is_success }
        }
    }
}

/// A `Result` whose error type is a type parameter, or belongs to one. Traits of ours would have rustc advise to
/// restrict the parameter by them; so the expansion asks for `From<LockError>` itself.
struct GenericResult {
    value: TokenStream,
    error: TokenStream,
}

impl GenericResult {
    fn of(ty: &Type, generics: &Generics) -> Option<Self> {
        let Type::Path(TypePath { path, .. }) = ty else {
            return None;
        };
        let last = path.segments.last().filter(|last| last.ident == "Result")?;
        let PathArguments::AngleBracketed(arguments) = &last.arguments else {
            return None;
        };
        let mut arguments = arguments.args.iter();
        let (Some(GenericArgument::Type(value)), Some(GenericArgument::Type(error)), None) =
            (arguments.next(), arguments.next(), arguments.next())
        else {
            return None;
        };
        let erased = |ty| {
            let ty = erase_impl_trait(ty).into_token_stream();
            erase_lifetimes(ty, generics)
        };
        is_generic(error, generics).then(|| Self {
            value: erased(value),
            error: erased(error),
        })
    }

    fn answers(
        &self,
        skips: bool,
        span: Span,
        private: &TokenStream,
    ) -> (TokenStream, TokenStream) {
        let Self { value, error } = self;
        let from =
            quote_spanned!(span=> <#error as ::core::convert::From<#private::LockError>>::from);
        let refused = if skips {
            quote_spanned! {span=>
                |__error| match <::core::result::Result<#value, #private::LockError>
                    as #private::FromSkip>::from_refusal(__error)
                {
                    ::core::result::Result::Ok(__skipped) => ::core::result::Result::Ok(__skipped),
                    ::core::result::Result::Err(__error) => ::core::result::Result::Err(#from(__error)),
                }
            }
        } else {
            quote_spanned!(span=> |__error| ::core::result::Result::Err(#from(__error)))
        };
        (
            refused,
            quote_spanned!(span=> ::core::result::Result::is_ok),
        )
    }
}

/// True for a type parameter, `E::Error` of one, and `Self::Error`. The parameters of an `impl` are not
/// seen here: a name of one letter is taken for one.
fn is_generic(ty: &Type, generics: &Generics) -> bool {
    let Type::Path(TypePath { qself, path, .. }) = ty else {
        return false;
    };
    let (Some(first), length) = (path.segments.first(), path.segments.len()) else {
        return false;
    };
    let name = first.ident.to_string();
    let is_letter = name.len() == 1 && name.starts_with(|c: char| c.is_ascii_uppercase());
    let is_parameter = is_letter || generics.type_params().any(|it| it.ident == first.ident);
    qself.is_some() || first.arguments.is_none() && (is_parameter || name == "Self" && length > 1)
}
