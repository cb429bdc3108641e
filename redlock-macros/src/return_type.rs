//! The declared return type: what the expansion says of it, what a returned future yields, and which HTTP
//! framework's response a handler returns.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{GenericArgument, Ident, Path, PathArguments, ReturnType, Type, TypeParamBound};

use crate::item_check::{is_punct, is_word};

/// The declared return type, as the hints and the trait call repeat it.
pub(crate) struct Output {
    pub ty: TokenStream,
    /// The type with its place in the source and the macro's hygiene: errors point at the type, but
    /// lints for hand-written code ignore it.
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

    /// For a handler that returns `impl IntoResponse` or `impl Responder`: the body's value becomes a
    /// response, unless it can carry a lock error itself.
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

    /// Says what the call returns without a lock, and whether a value is a success: by the functions of
    /// `<Ret as FromLockError>`, or of `FromSkip` for calls that may be skipped, with the span of the
    /// return type. If the type cannot carry a lock error, the error appears at the return type.
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
    // The angle brackets that are open since the `impl`.
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

/// Returns the output of the future in a return type: `Ret` in `Pin<Box<dyn Future<Output = Ret> + Send>>`, `impl
/// Future<Output = Ret>` and `BoxFuture<'_, Ret>`. `_` if the type does not show its output.
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

/// Returns the module of the runtime for a handler's `impl IntoResponse` of axum or `impl Responder` of actix-web.
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
