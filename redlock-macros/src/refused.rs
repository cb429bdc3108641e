//! A refused function stays in the output for its callers and for the IDE. The output also defines
//! what the body could use only under the lock, so that one mistake causes one error.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use syn::FnArg;
use syn::parse::Parser as _;

use crate::function::{Binding, bindings, block, parse_header, split_inner_attributes};
use crate::own_expressions::OwnExpressions;
use crate::unsuited::is_function;

/// The item, with the lease's name bound and with the `async` that its awaits need.
//
// Input:
//     fn charge(id: u64) -> Result<Receipt, AppError> { send(id, lease).await }
//
// Output (paths shortened):
//     async fn charge(id: u64) -> Result<Receipt, AppError> {
//         let lease: &Lease = None.unwrap();
//         send(id, lease).await
//     }
pub(crate) fn stand_in(
    item: TokenStream,
    guard: Option<&Ident>,
    runtime: &TokenStream,
) -> TokenStream {
    let mut header: Vec<TokenTree> = item.clone().into_iter().collect();
    let Some(body) = header.pop().as_ref().and_then(block) else {
        return item;
    };
    if !is_function(&header) {
        return item;
    }

    let (inner_attributes, rest) = split_inner_attributes(body.clone());
    if OwnExpressions::of(rest.stream()).has_await
        && let Some(at) = place_of_async(&header)
    {
        let here = Span::mixed_site().located_at(header[at].span());
        header.insert(at, Ident::new("async", here).into());
    }
    let used = use_of_parameters(header.iter().cloned().collect());
    let mut output: TokenStream = header.into_iter().collect();
    let binding = guard.map(|guard| {
        let here = Span::mixed_site().located_at(guard.span());
        quote_spanned! {here=>
            let #guard: &#runtime::__private::Lease =
                ::core::option::Option::unwrap(::core::option::Option::None);
            // Suppresses the warning that the name is unused.
            let _ = #guard;
        }
    });
    if used.is_empty() && binding.is_none() {
        body.to_tokens(&mut output);
        return output;
    }
    let binding = binding.unwrap_or_default();
    let inside = [inner_attributes, used, binding, rest.stream()];
    let mut body = Group::new(Delimiter::Brace, inside.into_iter().collect());
    body.set_span(rest.span());
    body.to_tokens(&mut output);
    output
}

/// Statements that use each parameter: a parameter that only the attribute mentions is not unused.
fn use_of_parameters(header: TokenStream) -> TokenStream {
    let Ok((_, signature)) = parse_header.parse2(header) else {
        return TokenStream::new();
    };
    let used = signature
        .inputs
        .iter()
        .filter(|input| matches!(input, FnArg::Typed(_)));
    let used = used.flat_map(bindings).filter_map(|binding| {
        let Binding {
            mut name,
            attributes,
        } = binding;
        let mut attributes = attributes.iter();
        // What the condition of a `cfg_attr` is about is not known.
        let is_unclear = attributes.clone().any(|a| a.path().is_ident("cfg_attr"));
        if is_unclear || name.to_string().starts_with('_') {
            return None;
        }
        let conditions = attributes.by_ref().filter(|a| a.path().is_ident("cfg"));
        name.set_span(Span::call_site().resolved_at(name.span()));
        Some(quote_spanned!(Span::mixed_site()=> #(#conditions)* let _ = &#name;))
    });
    used.collect()
}

/// The place for `async`, unless the function has it or cannot have it.
fn place_of_async(header: &[TokenTree]) -> Option<usize> {
    let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(i) if i == word);
    let function = header.iter().position(|token| is(token, "fn"))?;
    let qualifiers = &header[..function];
    if qualifiers
        .iter()
        .any(|token| is(token, "async") || is(token, "const"))
    {
        return None;
    }
    let later = |token| is(token, "unsafe") || is(token, "extern");
    Some(qualifiers.iter().position(later).unwrap_or(function))
}

#[cfg(test)]
mod tests {
    use quote::{format_ident, quote};

    use super::stand_in;

    fn check(item: &str, expected: &str) {
        let lex = |text: &str| text.parse::<proc_macro2::TokenStream>().expect(text);
        let guard = format_ident!("lease");
        for (guard, binding) in [
            (None, ""),
            (
                Some(&guard),
                "let lease: &::r::__private::Lease = \
                 ::core::option::Option::unwrap(::core::option::Option::None); let _ = lease;",
            ),
        ] {
            let made = stand_in(lex(item), guard, &quote!(::r));
            let expected = lex(&expected.replace("LEASE", binding));
            let bare = |tokens: proc_macro2::TokenStream| tokens.to_string().replace(' ', "");
            assert_eq!(bare(made), bare(expected), "{item}");
        }
    }

    #[test]
    fn a_function_that_awaits_is_async() {
        check(
            "pub fn f() { x.await }",
            "pub async fn f() { LEASE x.await }",
        );
        check(
            "unsafe fn f() { (x.await)? }",
            "async unsafe fn f() { LEASE (x.await)? }",
        );
        check("async fn f() { x.await }", "async fn f() { LEASE x.await }");
        check("const fn f() { x.await }", "const fn f() { LEASE x.await }");
        check(
            "fn f() { async { x.await } }",
            "fn f() { LEASE async { x.await } }",
        );
        check(
            "fn f() { Box::pin(async move { x.await }) }",
            "fn f() { LEASE Box::pin(async move { x.await }) }",
        );
        check("fn f() { let a = 1; }", "fn f() { LEASE let a = 1; }");
        check(
            "fn f() { #![allow(x)] x.await }",
            "async fn f() { #![allow(x)] LEASE x.await }",
        );
    }

    #[test]
    fn every_parameter_is_used() {
        check(
            "fn f(&self, a: A, (b, _c): (B, C), #[cfg(x)] d: D) { 1 }",
            "fn f(&self, a: A, (b, _c): (B, C), #[cfg(x)] d: D) { \
             let _ = &a; let _ = &b; #[cfg(x)] let _ = &d; LEASE 1 }",
        );
    }

    #[test]
    fn inner_attributes_stay_in_front() {
        check(
            "fn f() { #![allow(x)] 1 }",
            "fn f() { #![allow(x)] LEASE 1 }",
        );
    }

    #[test]
    fn what_is_no_function_stays_as_it_is() {
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
