//! Takes the block off the end of the arguments.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

use super::Block;
use crate::errors::Errors;
use crate::parameters::Key;

const IS_ASYNC: &str = "the block is an `async` block; write `async { … }`, \
                        or `async move { … }` if it outlives what it uses";

/// The parameters, and the block. After an error, what cannot be a parameter is left out, so that one
/// mistake causes one error.
pub(super) fn split(input: TokenStream, errors: &mut Errors) -> (TokenStream, Option<Block>) {
    let mut tokens: Vec<TokenTree> = input.into_iter().collect();
    // A fragment of a `macro_rules!` macro, `$block` or `$expr`, is in a group without delimiters.
    while let Some(TokenTree::Group(fragment)) = tokens
        .pop_if(|last| matches!(last, TokenTree::Group(g) if g.delimiter() == Delimiter::None))
    {
        tokens.extend(fragment.stream());
    }
    tokens.pop_if(|last| is_punct(last, ','));
    let block = match tokens.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
            Some(at_the_end(&mut tokens, body, errors))
        }
        last => {
            tokens.extend(last);
            elsewhere(&mut tokens, errors)
        }
    };
    (tokens.into_iter().collect(), block)
}

/// The block whose braces are the last token. Takes `async move` and what cannot be a parameter off the
/// tokens before it.
fn at_the_end(tokens: &mut Vec<TokenTree>, body: Group, errors: &mut Errors) -> Block {
    let mut opening = Vec::new();
    opening.extend(tokens.pop_if(|last| is(last, "move")));
    opening.extend(tokens.pop_if(|last| is(last, "async")));
    opening.reverse();
    let argument = last_argument(tokens);
    if opening.first().is_none_or(|first| !is(first, "async")) {
        errors.at(body.span_open(), IS_ASYNC);
        // What stands before the block, as `=>` or `|lease|`, is no parameter.
        if tokens.last().is_some_and(|last| is_punct(last, '>')) {
            tokens.truncate(tokens.len().saturating_sub(2));
        } else {
            tokens.truncate(argument.saturating_sub(1));
        }
        opening = vec![Ident::new("async", Span::mixed_site()).into()];
    } else if let [first, ..] = &tokens[argument..] {
        match tokens.last() {
            _ if is(first, "move") => {
                errors.at(
                    first.span(),
                    "the words are in another order; write `async move { … }`",
                );
                tokens.truncate(argument);
            }
            _ if is_punct(first, '|') => {
                errors.at(first.span(), IS_ASYNC);
                tokens.truncate(argument);
            }
            // What ends in a sign is no argument, and is reported as such.
            Some(TokenTree::Punct(_)) => {}
            _ => errors.at(opening[0].span(), "expected `,` before the block"),
        }
    }
    let opening = opening.into_iter().collect();
    Block { opening, body }
}

/// The block that is not the last argument, if there is one. Takes it off the tokens, or else the last
/// argument if it is no parameter.
fn elsewhere(tokens: &mut Vec<TokenTree>, errors: &mut Errors) -> Option<Block> {
    let example = Key::Resource.example();
    let found = (0..tokens.len()).find_map(|at| block_at(tokens, at));
    let Some((start, block)) = found else {
        let at = tokens.last().map_or_else(Span::call_site, TokenTree::span);
        errors.at(
            at,
            format!(
                "`locked!` ends with the block to run; write `locked!({example}, async move {{ … }})`"
            ),
        );
        let argument = last_argument(tokens);
        let is_parameter = matches!(&tokens[argument..],
            [TokenTree::Ident(_), sign, ..] if is_punct(sign, '='));
        if !is_parameter {
            tokens.truncate(argument);
        }
        return None;
    };
    let end = start + block.opening.clone().into_iter().count() + 1;
    match tokens.get(end) {
        Some(next) if !is_punct(next, ',') => {
            errors.at(
                next.span(),
                "nothing can follow the block; call it on the future that `locked!(…)` returns",
            );
            tokens.truncate(start);
        }
        _ => {
            errors.at(
                tokens[start].span(),
                format!("the block comes last; write `locked!({example}, async move {{ … }})`"),
            );
            tokens.drain(start..(end + 1).min(tokens.len()));
        }
    }
    Some(block)
}

/// The `async` block that begins at this token, if one does.
fn block_at(tokens: &[TokenTree], at: usize) -> Option<(usize, Block)> {
    let length = match &tokens[at..] {
        [first, TokenTree::Group(_), ..] if is(first, "async") => 1,
        [first, second, TokenTree::Group(_), ..] if is(first, "async") && is(second, "move") => 2,
        _ => return None,
    };
    let TokenTree::Group(body) = &tokens[at + length] else {
        return None;
    };
    let body = (body.delimiter() == Delimiter::Brace).then(|| body.clone())?;
    let opening = tokens[at..at + length].iter().cloned().collect();
    Some((at, Block { opening, body }))
}

/// The index behind the last comma.
fn last_argument(tokens: &[TokenTree]) -> usize {
    let comma = tokens.iter().rposition(|token| is_punct(token, ','));
    comma.map_or(0, |at| at + 1)
}

fn is(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}
