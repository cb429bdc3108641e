//! Return types: what a hint may repeat, what a returned future yields, whether a call could be skipped,
//! and which HTTP framework's response a handler returns.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{GenericArgument, Path, PathArguments, ReturnType, Type, TypeParamBound};

/// The type with each `impl Trait` replaced by `_`. The result is valid inside a function body.
pub(crate) fn erase_impl_trait(ty: &Type) -> Type {
    let mut erased = ty.clone();
    erase(&mut erased);
    erased
}

fn erase(ty: &mut Type) {
    match ty {
        Type::ImplTrait(opaque) => *ty = inferred(opaque.impl_token.span),
        Type::Array(ty) => erase(&mut ty.elem),
        Type::Group(ty) => erase(&mut ty.elem),
        Type::Paren(ty) => erase(&mut ty.elem),
        Type::Ptr(ty) => erase(&mut ty.elem),
        Type::Reference(ty) => erase(&mut ty.elem),
        Type::Slice(ty) => erase(&mut ty.elem),
        Type::Tuple(ty) => ty.elems.iter_mut().for_each(erase),
        Type::Path(ty) => erase_in_path(&mut ty.path),
        Type::TraitObject(ty) => {
            for bound in &mut ty.bounds {
                if let TypeParamBound::Trait(bound) = bound {
                    erase_in_path(&mut bound.path);
                }
            }
        }
        _ => {}
    }
}

fn erase_in_path(path: &mut Path) {
    for segment in &mut path.segments {
        let PathArguments::AngleBracketed(arguments) = &mut segment.arguments else {
            continue;
        };
        for argument in &mut arguments.args {
            match argument {
                GenericArgument::Type(ty) => erase(ty),
                GenericArgument::AssocType(assoc) => erase(&mut assoc.ty),
                _ => {}
            }
        }
    }
}

/// The output of the future in a return type: `Ret` in `Pin<Box<dyn Future<Output = Ret> + Send>>`,
/// `impl Future<Output = Ret>` and `BoxFuture<'_, Ret>`. `_` if the type does not show its output.
pub(crate) fn future_output(output: &ReturnType) -> Type {
    let found = match output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => in_type(ty),
    };
    found.unwrap_or_else(|| inferred(output.span()))
}

fn inferred(span: Span) -> Type {
    syn::parse_quote_spanned!(span=> _)
}

fn in_type(ty: &Type) -> Option<Type> {
    match ty {
        Type::Group(ty) => in_type(&ty.elem),
        Type::Paren(ty) => in_type(&ty.elem),
        Type::ImplTrait(ty) => ty.bounds.iter().find_map(in_bound),
        Type::TraitObject(ty) => ty.bounds.iter().find_map(in_bound),
        Type::Path(ty) => {
            let last = ty.path.segments.last()?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return None;
            };
            let argument = arguments
                .args
                .iter()
                .rev()
                .find_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                })?;
            if last.ident == "BoxFuture" || last.ident == "LocalBoxFuture" {
                return Some(argument.clone());
            }
            in_type(argument)
        }
        _ => None,
    }
}

fn in_bound(bound: &TypeParamBound) -> Option<Type> {
    let TypeParamBound::Trait(bound) = bound else {
        return None;
    };
    let last = bound.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(assoc.ty.clone()),
        _ => None,
    })
}

/// True for `()` and `Option<_>`.
pub(crate) fn could_skip(ty: &Type) -> bool {
    match ty {
        Type::Group(ty) => could_skip(&ty.elem),
        Type::Paren(ty) => could_skip(&ty.elem),
        Type::Tuple(ty) => ty.elems.is_empty(),
        Type::Path(ty) => {
            let last = ty.path.segments.last();
            last.is_some_and(|last| last.ident == "Option")
        }
        _ => false,
    }
}

/// The module of the runtime for a handler's `impl IntoResponse` or `impl Responder`.
pub(crate) fn response(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Group(ty) => response(&ty.elem),
        Type::Paren(ty) => response(&ty.elem),
        Type::ImplTrait(ty) => ty.bounds.iter().find_map(|bound| {
            let TypeParamBound::Trait(bound) = bound else {
                return None;
            };
            let name = &bound.path.segments.last()?.ident;
            RESPONSES
                .iter()
                .find_map(|(known, module)| (name == known).then_some(*module))
        }),
        _ => None,
    }
}

/// The traits of axum and of actix-web, and their modules in `redlock-runtime`.
const RESPONSES: [(&str, &str); 2] = [
    ("IntoResponse", "into_response"),
    ("Responder", "responder"),
];

#[cfg(test)]
mod tests {
    use quote::{ToTokens as _, quote};
    use syn::{ReturnType, Type};

    use super::{could_skip, erase_impl_trait, future_output, response};

    #[test]
    fn impl_trait_is_erased_wherever_it_hides() {
        let table = [
            ("u8", "u8"),
            ("impl Sized", "_"),
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
            let ty: Type = syn::parse_str(written).expect(written);
            let expected: Type = syn::parse_str(expected).expect(expected);
            assert_eq!(
                erase_impl_trait(&ty).to_token_stream().to_string(),
                quote!(#expected).to_string(),
            );
        }
    }

    #[test]
    fn types_with_errors_of_their_own_are_told_apart() {
        let table = [
            ("()", true, None),
            ("(u8,)", false, None),
            ("Option<u8>", true, None),
            ("std::option::Option<u8>", true, None),
            ("Result<(), E>", false, None),
            ("impl IntoResponse", false, Some("into_response")),
            (
                "impl Send + axum::response::IntoResponse + use<>",
                false,
                Some("into_response"),
            ),
            ("impl Responder", false, Some("responder")),
            ("impl Iterator<Item = u8>", false, None),
            ("Result<impl IntoResponse, E>", false, None),
        ];
        for (written, skips, module) in table {
            let ty: Type = syn::parse_str(written).expect(written);
            assert_eq!(
                (could_skip(&ty), response(&ty)),
                (skips, module),
                "{written}"
            );
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
