//! The declared return type of the function.
//!
//! This module finds the output of a returned future and the HTTP framework of a handler, and emits the code
//! that names the type.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{GenericArgument, Ident, Path, PathArguments, ReturnType, Type, TypeParamBound};

use crate::item_check::{is_punct, is_word};

/// The declared return type, as the expansion repeats it.
pub(crate) struct Output {
    pub ty: TokenStream,
    /// The place of the type in the source, with the macro's hygiene.
    /// Errors then point at the type, and lints for hand-written code ignore the generated code.
    pub span: Span,
    /// The module of the runtime with the traits for `impl IntoResponse` or `impl Responder`.
    response: Option<&'static str>,
}

impl Output {
    /// Returns the output type `ty` of the function `name`.
    pub(crate) fn of(ty: Option<&Type>, name: &Ident) -> Self {
        let span = ty.map_or_else(|| name.span(), Type::span);
        let span = Span::mixed_site().located_at(span);
        Self {
            ty: ty.map_or_else(
                || quote_spanned!(span=> ()),
                |ty| erase_impl_trait(ty.to_token_stream()),
            ),
            span,
            response: ty.and_then(response),
        }
    }

    /// Emits the conversion to a response, for a handler that returns `impl IntoResponse` or `impl Responder`.
    /// A body's value that can carry a lock error itself stays as it is.
    pub(crate) fn wrap_response(&self, skips: bool, private: &TokenStream) -> Option<TokenStream> {
        let module = self.response.filter(|_| !skips)?;
        let module = Ident::new(module, Span::mixed_site());
        Some(quote_spanned! {Span::mixed_site()=>
            let __redlock_choice = {
                use #private::#module::*;
                (&&&#private::Probe::of(&__redlock_body)).__redlock_choose()
            };
            let __redlock_body = __redlock_choice.wrap(__redlock_body);
        })
    }

    /// Emits the rules that map a lock error to a value, and tell a success from a failure.
    /// The rules are the functions of `<Ret as FromLockError>`, or of `FromSkip` for calls that may be skipped. They
    /// have the span of the return type, so that rustc reports a type that cannot carry a lock error there.
    pub(crate) fn return_rules(&self, skips: bool, private: &TokenStream) -> TokenStream {
        let Self { ty, span, .. } = self;
        let (carries, from_error) = if skips {
            ("FromSkip", "from_refusal")
        } else {
            ("FromLockError", "from_lock_error")
        };
        let [carries, from_error] = [carries, from_error].map(|name| Ident::new(name, *span));
        let from_error = quote_spanned!(*span=> <#ty as #private::#carries>::#from_error);
        let is_success = quote_spanned!(*span=> <#ty as #private::#carries>::is_success);
        quote_spanned! {Span::mixed_site()=>
            #private::ReturnRules { from_error: #from_error, is_success: #is_success }
        }
    }
}

/// Returns the type with each `impl Trait` replaced by `_`. The result is valid inside a function body.
fn erase_impl_trait(ty: TokenStream) -> TokenStream {
    let mut erased = TokenStream::new();
    // The number of angle brackets that were opened after the `impl`.
    let mut depth = None;
    let mut is_arrow = false;
    for token in ty {
        let opens = is_punct(&token, '<');
        let closes = is_punct(&token, '>') && !is_arrow;
        is_arrow = is_punct(&token, '-');
        let ends = closes || is_punct(&token, ',') || is_punct(&token, ';');
        if let Some(open) = depth.filter(|open| *open > 0 || !ends) {
            depth = Some(open + usize::from(opens) - usize::from(closes));
            continue;
        }
        depth = None;
        match token {
            TokenTree::Group(group) => {
                let mut new = Group::new(group.delimiter(), erase_impl_trait(group.stream()));
                new.set_span(group.span());
                erased.extend([TokenTree::from(new)]);
            }
            token if is_word(&token, "impl") => {
                depth = Some(0);
                erased.extend(quote_spanned!(token.span()=> _));
            }
            token => erased.extend([token]),
        }
    }
    erased
}

/// Returns the output of the future in a return type, or `_` if the type hides its output.
/// That is `Ret` in `Pin<Box<dyn Future<Output = Ret> + Send>>`, `impl Future<Output = Ret>` and `BoxFuture<'_, Ret>`.
pub(crate) fn future_output(output: &ReturnType) -> Type {
    let found = match output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => in_type(ty),
    };
    found.unwrap_or_else(|| syn::parse_quote_spanned!(output.span()=> _))
}

fn in_type(ty: &Type) -> Option<Type> {
    let ty = ungrouped(ty);
    if let Type::Path(ty) = ty {
        let last = &ty.path.segments.last()?.ident;
        let is_type = |argument: &GenericArgument| match argument {
            GenericArgument::Type(ty) => Some(ty.clone()),
            _ => None,
        };
        let argument = last_arguments(&ty.path).rev().find_map(is_type)?;
        if last == "BoxFuture" || last == "LocalBoxFuture" {
            return Some(argument);
        }
        return in_type(&argument);
    }
    let is_output = |argument: &GenericArgument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(assoc.ty.clone()),
        _ => None,
    };
    traits(ty).find_map(|path| last_arguments(path).find_map(is_output))
}

/// Returns the runtime's module for the web framework of a handler's return type.
/// The type is an `impl IntoResponse` for axum, or an `impl Responder` for actix-web.
pub(crate) fn response(ty: &Type) -> Option<&'static str> {
    let Type::ImplTrait(_) = ungrouped(ty) else {
        return None;
    };
    traits(ungrouped(ty)).find_map(|path| {
        let name = path.segments.last()?.ident.to_string();
        match &*name {
            "IntoResponse" => Some("into_response"),
            "Responder" => Some("responder"),
            _ => None,
        }
    })
}

fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(ty) => ungrouped(&ty.elem),
        Type::Paren(ty) => ungrouped(&ty.elem),
        ty => ty,
    }
}

/// Returns the traits of an `impl Trait` or of a `dyn Trait`.
fn traits(ty: &Type) -> impl Iterator<Item = &Path> {
    let bounds = match ty {
        Type::ImplTrait(ty) => Some(&ty.bounds),
        Type::TraitObject(ty) => Some(&ty.bounds),
        _ => None,
    };
    bounds
        .into_iter()
        .flatten()
        .filter_map(|bound| match bound {
            TypeParamBound::Trait(bound) => Some(&bound.path),
            _ => None,
        })
}

/// Returns the generic arguments at the end of a path.
fn last_arguments(path: &Path) -> impl DoubleEndedIterator<Item = &GenericArgument> {
    let last = path.segments.last().map(|last| &last.arguments);
    let arguments = match last {
        Some(PathArguments::AngleBracketed(arguments)) => Some(&arguments.args),
        _ => None,
    };
    arguments.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use quote::ToTokens as _;
    use syn::{ReturnType, Type};

    use super::{erase_impl_trait, future_output, response};

    #[test]
    fn impl_trait_is_erased_wherever_it_hides() {
        let table = [
            ("u8", "u8"),
            ("impl Sized", "_"),
            ("R<impl Fn(u8) -> A<B> + 'a, E>", "R<_, E>"),
            ("Result<impl IntoResponse, E>", "Result<_, E>"),
            (
                "Result<(u8, [impl Sized; 2]), &impl Sized>",
                "Result<(u8, [_; 2]), &_>",
            ),
            ("a::B<impl Sized>::C", "a::B<_>::C"),
            (
                "Box<dyn Iterator<Item = (u8, impl Sized)> + Send>",
                "Box<dyn Iterator<Item = (u8, _)> + Send>",
            ),
        ];
        for (written, expected) in table {
            let [ty, expected] = [written, expected]
                .map(|text| text.parse::<proc_macro2::TokenStream>().expect(text));
            assert_eq!(erase_impl_trait(ty).to_string(), expected.to_string());
        }
    }

    #[test]
    fn responses_are_told_apart() {
        let table = [
            ("impl IntoResponse", Some("into_response")),
            (
                "impl Send + axum::response::IntoResponse + use<>",
                Some("into_response"),
            ),
            ("impl Responder", Some("responder")),
            ("impl Iterator<Item = u8>", None),
            ("Result<impl IntoResponse, E>", None),
        ];
        for (written, module) in table {
            let ty: Type = syn::parse_str(written).expect(written);
            assert_eq!(response(&ty), module, "{written}");
        }
    }

    #[test]
    fn the_output_of_a_returned_future_is_found() {
        let table = [
            (
                "-> Pin<Box<dyn Future<Output = Ret> + Send + 'async_trait>>",
                "Ret",
            ),
            (
                "-> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Ret<u8>>>>",
                "Ret<u8>",
            ),
            ("-> impl Send + Future<Output = Ret>", "Ret"),
            ("-> BoxFuture<'_, Ret>", "Ret"),
            ("-> MyFuture", "_"),
            ("-> u8", "_"),
            ("", "_"),
        ];
        for (written, expected) in table {
            let output: ReturnType = syn::parse_str(written).expect(written);
            let expected: Type = syn::parse_str(expected).expect(expected);
            assert_eq!(
                future_output(&output).to_token_stream().to_string(),
                expected.to_token_stream().to_string(),
            );
        }
    }
}
