//! The place of the asynchronous block: the function itself, or a future that it returns.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};

/// The place of the asynchronous block in the function.
pub(crate) enum Shape {
    /// `async fn`: the block is the body itself.
    AsyncFn,
    /// A function that returns a future, ending in `Box::pin(async move { … })` (which
    /// `#[async_trait]` makes of an `async fn`) or in a bare `async move { … }`.
    ReturnsFuture {
        /// The statements before the block, and `Box::pin` if the function has it.
        before: TokenStream,
        /// `async move`.
        opening: TokenStream,
        /// The span of the block's braces.
        braces: Span,
        /// True if `opening` and the block are in parentheses.
        parens: Option<Span>,
    },
}

impl Shape {
    /// Replaces the user's block by a new one.
    pub(crate) fn surround(&self, block: &TokenStream) -> TokenStream {
        match self {
            Self::AsyncFn => block.clone(),
            Self::ReturnsFuture {
                before,
                opening,
                braces,
                parens: None,
            } => {
                let block = in_braces(block, *braces);
                quote!(#before #opening #block)
            }
            Self::ReturnsFuture {
                before,
                opening,
                braces,
                parens: Some(span),
            } => {
                let block = in_braces(block, *braces);
                let mut group = Group::new(Delimiter::Parenthesis, quote!(#opening #block));
                group.set_span(*span);
                let group = group.to_token_stream();
                quote!(#before #group)
            }
        }
    }
}

fn in_braces(block: &TokenStream, span: Span) -> Group {
    let mut group = Group::new(Delimiter::Brace, block.clone());
    group.set_span(span);
    group
}

impl Shape {
    /// A `return` before the future returns another future, which would run without the lock.
    pub(crate) fn early_return(&self) -> Option<Span> {
        let Self::ReturnsFuture { before, .. } = self else {
            return None;
        };
        let mut before: Vec<TokenTree> = before.clone().into_iter().collect();
        // The future itself may follow a `return`, with the path of `Box::pin` in between.
        let in_path = |token: &TokenTree| match token {
            TokenTree::Punct(punct) => punct.as_char() == ':',
            TokenTree::Ident(ident) => ident != "return",
            _ => false,
        };
        while before.pop_if(|last| in_path(last)).is_some() {}
        before.pop_if(|last| matches!(last, TokenTree::Ident(_)));
        find_own(before.into_iter().collect(), "return")
    }
}

/// A word that belongs to the block itself, and not to an `async` block, a closure or a function in
/// it.
pub(crate) fn find_own(block: TokenStream, word: &str) -> Option<Span> {
    // True if the next block is the body of a function, a closure or an `async` block.
    let (mut is_function, mut is_other) = (false, false);
    for token in block {
        match token {
            TokenTree::Ident(ident) if ident == word && !is_other => return Some(ident.span()),
            TokenTree::Ident(ident) => {
                is_function |= ident == "fn";
                is_other = ident == "async" || is_other && ident == "move";
            }
            TokenTree::Group(group) => {
                let is_body = is_function && group.delimiter() == Delimiter::Brace;
                is_function &= !is_body;
                if !is_body
                    && !is_other
                    && let Some(found) = find_own(group.stream(), word)
                {
                    return Some(found);
                }
                is_other = false;
            }
            // The parameters of a closure end with `|`.
            TokenTree::Punct(punct) => is_other |= punct.as_char() == '|',
            TokenTree::Literal(_) => is_other = false,
        }
    }
    None
}

/// The asynchronous block at the end of a body, if there is one.
pub(crate) fn future_at_the_end(body: &Group) -> Option<(Shape, Group)> {
    let mut tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let TokenTree::Group(last) = tokens.pop()? else {
        return None;
    };
    match last.delimiter() {
        Delimiter::Brace => {
            let (before, opening) = split_async_move(&tokens)?;
            let before = before.iter().cloned().collect();
            Some((
                Shape::ReturnsFuture {
                    before,
                    opening,
                    braces: last.span(),
                    parens: None,
                },
                last,
            ))
        }
        Delimiter::Parenthesis if ends_in_box_pin(&tokens) => {
            let mut inside: Vec<TokenTree> = last.stream().into_iter().collect();
            if matches!(inside.last(), Some(TokenTree::Punct(p)) if p.as_char() == ',') {
                inside.pop();
            }
            let Some(TokenTree::Group(block)) = inside.pop() else {
                return None;
            };
            let (before_async, opening) = split_async_move(&inside)?;
            if block.delimiter() != Delimiter::Brace || !before_async.is_empty() {
                return None;
            }
            let before = tokens.into_iter().collect();
            Some((
                Shape::ReturnsFuture {
                    before,
                    opening,
                    braces: block.span(),
                    parens: Some(last.span()),
                },
                block,
            ))
        }
        _ => None,
    }
}

/// Splits `async move` (or `async`) off the end of the tokens.
fn split_async_move(tokens: &[TokenTree]) -> Option<(&[TokenTree], TokenStream)> {
    let is = |token: Option<&TokenTree>, word: &str| matches!(token, Some(TokenTree::Ident(i)) if i == word);
    let length = match tokens {
        [.., a, b] if is(Some(a), "async") && is(Some(b), "move") => 2,
        [.., a] if is(Some(a), "async") => 1,
        _ => return None,
    };
    let (before, opening) = tokens.split_at(tokens.len() - length);
    Some((before, opening.iter().cloned().collect()))
}

fn ends_in_box_pin(tokens: &[TokenTree]) -> bool {
    let [.., boxed, colon, colon2, pin] = tokens else {
        return false;
    };
    let is = |token: &TokenTree, text: &str| token.to_string() == text;
    is(boxed, "Box") && is(colon, ":") && is(colon2, ":") && is(pin, "pin")
}

#[cfg(test)]
mod tests {
    use super::{find_own, future_at_the_end};

    #[test]
    fn returns_before_the_future_are_found() {
        let table = [
            ("{ Box::pin(async move {}) }", false),
            ("{ return Box::pin(async move {}) }", false),
            ("{ return ::std::boxed::Box::pin(async move {}) }", false),
            ("{ return async {} }", false),
            ("{ let a = b; async {} }", false),
            ("{ if a { return b; } Box::pin(async move {}) }", true),
            ("{ if a { return b; } return Box::pin(async {}) }", true),
            ("{ if a { return b; } async {} }", true),
        ];
        for (body, expected) in table {
            let body: proc_macro2::Group = syn::parse_str(body).expect(body);
            let (shape, _) = future_at_the_end(&body).expect("a future");
            assert_eq!(shape.early_return().is_some(), expected, "{body}");
        }
    }

    #[test]
    fn a_blocks_own_words_are_found() {
        let table = [
            ("return", true),
            ("if a { b(return) }", true),
            ("let x = if a | b { return };", true),
            ("match x { A => { return } B => {} }", true),
            ("async { return }; async move { return };", false),
            (
                "|x| { return }; move || { return }; async |x| { return };",
                false,
            ),
            ("|x| return", false),
            ("fn f(x: u8) -> u8 { if x { return } }", false),
            ("fn f() {} return", true),
            ("let f: fn(u8) = g; returns", false),
        ];
        for (block, expected) in table {
            let found = find_own(block.parse().expect(block), "return");
            assert_eq!(found.is_some(), expected, "{block}");
        }
    }
}
