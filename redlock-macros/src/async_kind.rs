//! The place of the asynchronous block: the function itself, or a future that it returns.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::parse::Parser as _;
use syn::visit::Visit;
use syn::{Block, ExprAsync, ExprClosure, ExprReturn, Item};

use crate::item_check::{is_punct, is_word};

/// The place of the asynchronous block in the function.
pub(crate) enum AsyncKind {
    /// `async fn`: the block is the body itself.
    AsyncFn,
    /// A function that ends in `Box::pin(async move { … })` or in `async move { … }`.
    /// `#[async_trait]` makes the former of an `async fn`.
    ReturnsFuture(Tail),
}

/// A function body that ends in a future, taken apart.
pub(crate) struct Tail {
    /// The statements before the future.
    pub statements: TokenStream,
    /// The attributes of the last expression.
    attributes: TokenStream,
    /// `return`, if the last expression has it.
    keyword: Option<TokenTree>,
    /// The last expression, with the user's block in it.
    future: Vec<TokenTree>,
    /// True if the block moves its captures instead of borrowing them.
    moves: bool,
}

impl AsyncKind {
    pub(crate) fn moves(&self) -> bool {
        match self {
            Self::AsyncFn => true,
            Self::ReturnsFuture(tail) => tail.moves,
        }
    }

    /// Replaces the user's block by a new one.
    pub(crate) fn surround(&self, block: TokenStream, private: &TokenStream) -> TokenStream {
        match self {
            Self::AsyncFn => block,
            Self::ReturnsFuture(tail) => tail.surround(&block, private),
        }
    }
}

impl Tail {
    /// Moves the statements into a closure whose only possible result is the final future.
    /// Another macro in the statements may expand to a `return` that this macro cannot see. A future
    /// that such a `return` yields has another type, so rustc reports an error at the `return`.
    //
    // The output, with shortened paths:
    // ```
    //     return returned(move || -> RunsUnderTheLock<_> {
    //         let twice = id * 2;
    //         return RunsUnderTheLock::future(Box::pin(async move { … }));
    //     });
    // ```
    fn surround(&self, block: &TokenStream, private: &TokenStream) -> TokenStream {
        let Self {
            statements,
            attributes,
            keyword,
            ..
        } = self;
        let future = replace_block(&self.future, block);
        if statements.is_empty() {
            return quote!(#attributes #keyword #future);
        }
        let here = Span::mixed_site();
        // Write `return` explicitly, because clippy takes the macro's implicit returns for the user's.
        let of_the_macro = || quote_spanned!(here=> return);
        let keyword = keyword
            .as_ref()
            .map_or_else(of_the_macro, TokenTree::to_token_stream);
        quote_spanned! {here=>
            return #private::returned(move || -> #private::RunsUnderTheLock<_> {
                #statements
                #attributes #keyword #private::RunsUnderTheLock::future(#future);
            });
        }
    }
}

/// Replaces the content of the only braces in an expression. The braces may be in parentheses.
fn replace_block(expression: &[TokenTree], block: &TokenStream) -> TokenStream {
    let replaced = expression.iter().map(|token| {
        let TokenTree::Group(group) = token else {
            return token.clone();
        };
        let inside = match group.delimiter() {
            Delimiter::Brace => block.clone(),
            _ => replace_block(&tokens_of(group), block),
        };
        let mut new = Group::new(group.delimiter(), inside);
        new.set_span(group.span());
        new.into()
    });
    replaced.collect()
}

fn tokens_of(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

/// Returns the asynchronous block at the end of a body, if there is one.
pub(crate) fn future_at_the_end(body: &Group) -> Option<(Tail, Group)> {
    let mut tokens = tokens_of(body);
    let has_semicolon = tokens.pop_if(|token| is_punct(token, ';')).is_some();
    let mut end = tokens.len();
    // Accept a `.boxed()` of `FutureExt` after the block.
    if let [.., dot, name, TokenTree::Group(arguments)] = &tokens[..]
        && is_punct(dot, '.')
        && (is_word(name, "boxed") || is_word(name, "boxed_local"))
        && arguments.stream().is_empty()
    {
        end -= 3;
    }
    let (TokenTree::Group(last), before) = tokens[..end].split_last()? else {
        return None;
    };
    let (start, moves, block) = match last.delimiter() {
        Delimiter::Brace => {
            let (start, moves) = start_of_async(before)?;
            (start, moves, last.clone())
        }
        Delimiter::Parenthesis => {
            let mut inside = tokens_of(last);
            inside.pop_if(|token| is_punct(token, ','));
            let TokenTree::Group(block) = inside.pop()? else {
                return None;
            };
            let (0, moves) = start_of_async(&inside)? else {
                return None;
            };
            (start_of_box_pin(before)?, moves, block)
        }
        _ => return None,
    };

    let future = tokens.split_off(start);
    let keyword = tokens.pop_if(|token| is_word(token, "return"));
    let mut start = tokens.len();
    while let [.., pound, TokenTree::Group(group)] = &tokens[..start]
        && is_punct(pound, '#')
        && group.delimiter() == Delimiter::Bracket
    {
        start -= 2;
    }
    let attributes = tokens.split_off(start).into_iter().collect();
    if has_semicolon && keyword.is_none() || !ends_a_statement(&tokens) {
        return None;
    }
    let tail = Tail {
        statements: tokens.into_iter().collect(),
        attributes,
        keyword,
        future,
        moves,
    };
    Some((tail, block))
}

/// Returns the index of a final `async`, and true if `move` follows it.
fn start_of_async(tokens: &[TokenTree]) -> Option<(usize, bool)> {
    match tokens {
        [before @ .., a, b] if is_word(a, "async") && is_word(b, "move") => {
            Some((before.len(), true))
        }
        [before @ .., a] if is_word(a, "async") => Some((before.len(), false)),
        _ => None,
    }
}

/// Returns the index at which the path of a final `Box::pin` begins.
fn start_of_box_pin(tokens: &[TokenTree]) -> Option<usize> {
    let [.., boxed, colon, _, pin] = tokens else {
        return None;
    };
    if !(is_word(boxed, "Box") && is_punct(colon, ':') && is_word(pin, "pin")) {
        return None;
    }
    let in_path = |token: &&TokenTree| {
        is_punct(token, ':') || matches!(token, TokenTree::Ident(word) if word != "return")
    };
    let length = tokens.iter().rev().take_while(in_path).count();
    Some(tokens.len() - length)
}

/// True if a new statement can begin after the tokens.
fn ends_a_statement(tokens: &[TokenTree]) -> bool {
    match tokens.last() {
        None => true,
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
        Some(token) => is_punct(token, ';'),
    }
}

/// Returns the first `return` of the statements, which would yield a future without the lock.
/// Closures, `async` blocks and items in the statements have their own `return`, so they are skipped. The result is
/// `None` if syn cannot parse the statements.
pub(crate) fn first_return(statements: TokenStream) -> Option<Span> {
    struct Returns(Option<Span>);

    impl<'ast> Visit<'ast> for Returns {
        fn visit_expr_return(&mut self, expression: &'ast ExprReturn) {
            self.0.get_or_insert(expression.return_token.span);
        }

        fn visit_expr_closure(&mut self, _: &'ast ExprClosure) {}

        fn visit_expr_async(&mut self, _: &'ast ExprAsync) {}

        fn visit_item(&mut self, _: &'ast Item) {}
    }

    let mut returns = Returns(None);
    for statement in &Block::parse_within.parse2(statements).ok()? {
        returns.visit_stmt(statement);
    }
    returns.0
}

#[cfg(test)]
mod tests {
    use super::future_at_the_end;

    #[test]
    fn other_ends_are_no_futures() {
        for body in [
            "{ a || return Box::pin(async move {}) }",
            "{ || Box::pin(async move {}) }",
            "{ a = async move {} }",
            "{ async move {}; }",
            "{ Box::pin(async move {}); }",
            "{ Box::pin(a, async move {}) }",
            "{ Rc::pin(async move {}) }",
            "{ if a { async {} } else { async {} } }",
        ] {
            let body: proc_macro2::Group = syn::parse_str(body).expect(body);
            assert!(future_at_the_end(&body).is_none(), "{body}");
        }
    }
}
