//! Lifetimes in the copies of the return type.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::Generics;

/// The type with each lifetime of the function replaced by `'_`. A body that names a lifetime hides
/// from clippy that the signature need not name it.
pub(crate) fn erase_lifetimes(ty: TokenStream, generics: &Generics) -> TokenStream {
    let mut names = generics.lifetimes().map(|it| &it.lifetime.ident);
    // In the type of a function, `'_` is a lifetime of that type and not of the function.
    if names.next().is_none() || has_function_type(ty.clone()) {
        return ty;
    }
    erase(ty, generics)
}

fn has_function_type(ty: TokenStream) -> bool {
    let is_arrow = |tokens: &[TokenTree]| match tokens {
        [TokenTree::Punct(dash), TokenTree::Punct(angle)] => {
            dash.as_char() == '-' && angle.as_char() == '>'
        }
        _ => false,
    };
    let tokens: Vec<TokenTree> = ty.into_iter().collect();
    let of_token = |token: &TokenTree| match token {
        TokenTree::Ident(word) => {
            let word = word.to_string();
            word == "fn" || word.starts_with("Fn") || word.starts_with("AsyncFn")
        }
        TokenTree::Group(group) => has_function_type(group.stream()),
        _ => false,
    };
    tokens.iter().any(of_token) || tokens.windows(2).any(is_arrow)
}

fn erase(ty: TokenStream, generics: &Generics) -> TokenStream {
    let mut is_lifetime = false;
    let erased = ty.into_iter().map(|token| {
        let was_quote = std::mem::take(&mut is_lifetime);
        match token {
            TokenTree::Punct(punct) => {
                is_lifetime = punct.as_char() == '\'';
                TokenTree::Punct(punct)
            }
            TokenTree::Ident(name) if was_quote && is_of(&name, generics) => {
                Ident::new("_", name.span()).into()
            }
            TokenTree::Group(group) => {
                let mut inside =
                    proc_macro2::Group::new(group.delimiter(), erase(group.stream(), generics));
                inside.set_span(group.span());
                inside.into()
            }
            other => other,
        }
    });
    erased.collect()
}

fn is_of(name: &Ident, generics: &Generics) -> bool {
    generics.lifetimes().any(|it| it.lifetime.ident == *name)
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::erase_lifetimes;

    #[test]
    fn only_lifetimes_of_the_function_are_erased() {
        let table = [
            ("Result<&'a str, E>", "Result<&'_ str, E>"),
            ("R<A<'a, 'b>, &'static u8>", "R<A<'_, 'b>, &'static u8>"),
            ("(&'a [u8], dyn T + 'a)", "(&'_ [u8], dyn T + '_)"),
            ("fn(&'a u8) -> u8", "fn(&'a u8) -> u8"),
            ("R<dyn Fn(&'a u8)>", "R<dyn Fn(&'a u8)>"),
            (
                "(dyn for<'c> T<'c>, [u8; a])",
                "(dyn for<'c> T<'c>, [u8; a])",
            ),
        ];
        let generics: syn::Generics = syn::parse_quote!(<'a, T>);
        for (written, expected) in table {
            let [ty, expected] = [written, expected]
                .map(|text| text.parse::<proc_macro2::TokenStream>().expect(text));
            let erased = erase_lifetimes(ty, &generics);
            assert_eq!(erased.to_string(), quote!(#expected).to_string());
        }
    }
}
