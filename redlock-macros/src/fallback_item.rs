//! The output for a function whose attribute has errors: the function itself, for its callers and the IDE.
//!
//! The output also binds the guard and adds a missing `async`, so that one mistake causes only one error.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::parse::Parser as _;

use crate::function::{block, parse_header, split_inner_attributes};
use crate::item_check::is_word;

/// Returns the item with a bound guard, and with the `async` that its awaits need.
/// A parameter that only the attribute mentions causes no warning.
//
// The input, and the output with shortened paths. The lease is fenced, so that the body may ask for a token:
// ```
//     fn charge(id: u64) -> Result<Receipt, AppError> { send(id, lease).await }
//
//     #[allow(unused_variables)]
//     async fn charge(id: u64) -> Result<Receipt, AppError> {
//         let lease: &Fenced<Lease> = None.unwrap();
//         send(id, lease).await
//     }
// ```
pub(crate) fn fallback_item(
    item: TokenStream,
    guard: Option<&Ident>,
    runtime: &TokenStream,
) -> TokenStream {
    let mut header: Vec<TokenTree> = item.clone().into_iter().collect();
    let Some(body) = header.pop().as_ref().and_then(block) else {
        return item;
    };
    let parsed = parse_header.parse2(header.iter().cloned().collect());
    let signature = parsed.ok().map(|it| it.1);
    if signature.is_none() && !header.iter().any(|token| is_word(token, "fn")) {
        return item;
    }
    // rustc reports bad syntax. A newer rustc may accept the syntax, but the function must not run unlocked.
    let unread = signature.is_none().then(|| {
        quote_spanned! {Span::mixed_site()=>
            let () = const { ::core::panic!("`#[redlock]` cannot read this function") };
        }
    });
    let (inner_attributes, rest) = split_inner_attributes(body);
    let could_be_async =
        signature.is_some_and(|it| it.asyncness.is_none() && it.constness.is_none());
    if could_be_async && awaits(rest.stream()) {
        let begins = |token: &TokenTree| {
            ["unsafe", "extern", "fn"]
                .iter()
                .any(|it| is_word(token, it))
        };
        let at = header.iter().position(begins).unwrap_or_default();
        let here = Span::mixed_site().located_at(header[at].span());
        header.insert(at, Ident::new("async", here).into());
    }
    let binding = guard.map(|guard| {
        let here = Span::mixed_site().located_at(guard.span());
        quote_spanned! {here=>
            let #guard: &#runtime::__private::Fenced<#runtime::__private::Lease> =
                ::core::option::Option::unwrap(::core::option::Option::None);
        }
    });
    let inside = [inner_attributes, quote!(#unread #binding), rest.stream()];
    let mut body = Group::new(Delimiter::Brace, inside.into_iter().collect());
    body.set_span(rest.span());
    quote!(#[allow(unused_variables)] #(#header)* #body)
}

/// True if a block awaits outside of the `async` blocks in it.
fn awaits(block: TokenStream) -> bool {
    let mut in_async = false;
    block.into_iter().any(|token| match token {
        TokenTree::Group(group) => !std::mem::take(&mut in_async) && awaits(group.stream()),
        token => {
            in_async = is_word(&token, "async") || in_async && is_word(&token, "move");
            is_word(&token, "await")
        }
    })
}

#[cfg(test)]
mod tests {
    use quote::{format_ident, quote};

    use super::fallback_item;

    /// Compares the outputs with and without a guard. `LEASE` marks the place of the guard's binding.
    fn check(item: &str, expected: &str) {
        let lex = |text: &str| text.parse::<proc_macro2::TokenStream>().expect(text);
        let bare = |tokens: proc_macro2::TokenStream| tokens.to_string().replace(' ', "");
        let binding = "let lease: &::r::__private::Fenced<::r::__private::Lease> = \
                       ::core::option::Option::unwrap(::core::option::Option::None);";
        let allow = if expected.contains("LEASE") {
            "#[allow(unused_variables)] "
        } else {
            ""
        };
        for (guard, binding) in [(None, ""), (Some(&format_ident!("lease")), binding)] {
            let made = fallback_item(lex(item), guard, &quote!(::r));
            let expected = format!("{allow}{}", expected.replace("LEASE", binding));
            assert_eq!(bare(made), bare(lex(&expected)), "{item}");
        }
    }

    #[test]
    fn a_function_that_awaits_is_async() {
        for (head, body, made) in [
            ("pub fn f()", "x.await", "pub async fn f()"),
            ("unsafe fn f()", "(x.await)?", "async unsafe fn f()"),
            ("async fn f()", "x.await", "async fn f()"),
            ("const fn f()", "x.await", "const fn f()"),
            ("fn f()", "async { x.await }", "fn f()"),
            ("fn f()", "Box::pin(async move { x.await })", "fn f()"),
            ("fn f()", "let a = 1;", "fn f()"),
        ] {
            let item = format!("{head} {{ {body} }}");
            check(&item, &format!("{made} {{ LEASE {body} }}"));
        }
    }

    #[test]
    fn inner_attributes_stay_in_front() {
        check(
            "fn f() { #![allow(x)] x.await }",
            "async fn f() { #![allow(x)] LEASE x.await }",
        );
    }

    #[test]
    fn an_item_without_a_body_stays_as_it_is() {
        for item in [
            "struct S { x: u8 }",
            "impl S { fn f() { x.await } }",
            "fn f();",
            "",
        ] {
            check(item, item);
        }
    }
}
