//! Where in a function the asynchronous block is: the function itself, or a future it returns.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};

/// Where in the function the asynchronous block is.
pub(crate) enum Shape {
    /// `async fn`: the block is the body itself.
    AsyncFn,
    /// A function that returns a future, ending in `Box::pin(async move { … })` (which
    /// `#[async_trait]` makes of an `async fn`) or in a bare `async move { … }`.
    ReturnsFuture {
        /// The statements before, and `Box::pin` where it is there.
        before: TokenStream,
        /// `async move`.
        opening: TokenStream,
        /// Where the braces of the block are.
        braces: Span,
        /// Whether `opening` and the block are in parentheses.
        parens: Option<Span>,
    },
}

impl Shape {
    /// Puts a new block where the user's was.
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

/// The asynchronous block that a body ends in, if it does.
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

/// Splits `async move` (or `async`) off the end.
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
