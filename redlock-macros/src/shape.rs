//! The place of the asynchronous block: the function itself, or a future that it returns.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};

use crate::own_expressions::OwnExpressions;

/// The place of the asynchronous block in the function.
pub(crate) enum Shape {
    /// `async fn`: the block is the body itself.
    AsyncFn,
    /// A function that returns a future, ending in `Box::pin(async move { … })` (which
    /// `#[async_trait]` makes of an `async fn`) or in a bare `async move { … }`.
    ReturnsFuture(Tail),
}

/// The end of a function that returns a future, and the statements before it.
#[derive(Default)]
pub(crate) struct Tail {
    /// The statements before the future.
    statements: TokenStream,
    /// The attributes of the last expression, and its `return`.
    lead: TokenStream,
    /// The path of `Box::pin`.
    path: TokenStream,
    /// `async move`, or `async`.
    opening: TokenStream,
    /// The span of the block's braces.
    braces: Option<Span>,
    /// The span of the parentheses around `opening` and the block.
    parens: Option<Span>,
    /// The `;` after a `return`.
    end: TokenStream,
}

impl Shape {
    /// Replaces the user's block by a new one. `boxed` is what the user calls on it.
    pub(crate) fn surround(
        &self,
        block: &TokenStream,
        boxed: &TokenStream,
        private: &TokenStream,
    ) -> TokenStream {
        match self {
            Self::AsyncFn => block.clone(),
            Self::ReturnsFuture(tail) => tail.surround(block, boxed, private),
        }
    }

    /// The words in the statements before the future. The variables that it sees are among them.
    pub(crate) fn locals(&self) -> Vec<Ident> {
        let mut words = Vec::new();
        if let Self::ReturnsFuture(tail) = self {
            collect_words(tail.statements.clone(), &mut words);
        }
        words
    }

    /// True if the block moves what it captures, and does not borrow it.
    pub(crate) fn moves(&self) -> bool {
        match self {
            Self::AsyncFn => true,
            Self::ReturnsFuture(tail) => tail.opening.clone().into_iter().count() == 2,
        }
    }

    /// The span of a `return` before the future, if there is one. It returns another future, which would
    /// run without the lock.
    pub(crate) fn early_return(&self) -> Option<Span> {
        match self {
            Self::AsyncFn => None,
            Self::ReturnsFuture(tail) => OwnExpressions::of(tail.statements.clone()).first_return,
        }
    }
}

impl Tail {
    /// Puts the statements into a closure whose result can only be the future at the end. The expansion
    /// of another macro in the statements may contain a `return` that this macro cannot see. If it
    /// returns another future, that future has another type, which rustc reports at the `return`.
    //
    // Output (paths shortened):
    //     return returned(move || -> RunsUnderTheLock<_> {
    //         let twice = id * 2;
    //         return RunsUnderTheLock::future(Box::pin(async move { … }));
    //     });
    fn surround(
        &self,
        block: &TokenStream,
        boxed: &TokenStream,
        private: &TokenStream,
    ) -> TokenStream {
        let Self {
            statements,
            lead,
            path,
            opening,
            end,
            ..
        } = self;
        let here = Span::mixed_site();
        let block = in_group(Delimiter::Brace, block.clone(), self.braces);
        let mut future = quote!(#opening #block #boxed);
        if let Some(span) = self.parens {
            let argument = in_group(Delimiter::Parenthesis, future, Some(span));
            future = quote!(#path #argument);
        }
        if statements.is_empty() {
            return quote!(#lead #future #end);
        }
        let marked = quote_spanned!(here=> #private::RunsUnderTheLock::future(#future));
        // Clippy counts the macro's own implicit returns among the user's.
        let has_return = matches!(lead.clone().into_iter().last(), Some(TokenTree::Ident(_)));
        let marked = if has_return {
            quote!(#lead #marked #end)
        } else {
            quote_spanned!(here=> #lead return #marked;)
        };
        quote_spanned! {here=>
            return #private::returned(move || -> #private::RunsUnderTheLock<_> {
                #statements
                #marked
            });
        }
    }
}

fn collect_words(tokens: TokenStream, words: &mut Vec<Ident>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => words.push(word),
            TokenTree::Group(group) => collect_words(group.stream(), words),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn in_group(delimiter: Delimiter, inside: TokenStream, span: Option<Span>) -> TokenStream {
    let mut group = Group::new(delimiter, inside);
    group.set_span(span.unwrap_or_else(Span::mixed_site));
    group.to_token_stream()
}

/// The asynchronous block at the end of a body, if there is one.
pub(crate) fn future_at_the_end(body: &Group) -> Option<(Shape, Group)> {
    let mut tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let is_semicolon =
        |token: &mut TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ';');
    let end = tokens.pop_if(is_semicolon);
    let TokenTree::Group(last) = tokens.pop()? else {
        return None;
    };
    let mut tail = Tail::default();
    let (before, block) = match last.delimiter() {
        Delimiter::Brace => {
            let (before, opening) = split_async(&tokens)?;
            tail.opening = collected(opening);
            (before, last)
        }
        Delimiter::Parenthesis => {
            let (before, path) = split_box_pin(&tokens)?;
            tail.path = collected(path);
            tail.parens = Some(last.span());
            let mut inside: Vec<TokenTree> = last.stream().into_iter().collect();
            inside.pop_if(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','));
            let Some(TokenTree::Group(block)) = inside.pop() else {
                return None;
            };
            let (before_async, opening) = split_async(&inside)?;
            if block.delimiter() != Delimiter::Brace || !before_async.is_empty() {
                return None;
            }
            tail.opening = collected(opening);
            (before, block)
        }
        _ => return None,
    };
    tail.braces = Some(block.span());

    let (statements, lead) = split_lead(before);
    let is_return = matches!(lead.last(), Some(TokenTree::Ident(_)));
    if end.is_some() && !is_return || !ends_a_statement(statements) {
        return None;
    }
    tail.end = end.into_iter().collect();
    tail.lead = collected(lead);
    tail.statements = collected(statements);
    Some((Shape::ReturnsFuture(tail), block))
}

fn collected(tokens: &[TokenTree]) -> TokenStream {
    tokens.iter().cloned().collect()
}

/// Splits `async move` (or `async`) off the end of the tokens.
fn split_async(tokens: &[TokenTree]) -> Option<(&[TokenTree], &[TokenTree])> {
    let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(i) if i == word);
    let length = match tokens {
        [.., a, b] if is(a, "async") && is(b, "move") => 2,
        [.., a] if is(a, "async") => 1,
        _ => return None,
    };
    Some(tokens.split_at(tokens.len() - length))
}

/// Splits the path of `Box::pin` off the end of the tokens.
fn split_box_pin(tokens: &[TokenTree]) -> Option<(&[TokenTree], &[TokenTree])> {
    let in_path = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => punct.as_char() == ':',
        TokenTree::Ident(ident) => ident != "return",
        _ => false,
    };
    let length = tokens.iter().rev().take_while(|token| in_path(token));
    let (before, path) = tokens.split_at(tokens.len() - length.count());
    let [.., boxed, colon, colon2, pin] = path else {
        return None;
    };
    let is = |token: &TokenTree, text: &str| token.to_string() == text;
    let is_box_pin = is(boxed, "Box") && is(colon, ":") && is(colon2, ":") && is(pin, "pin");
    is_box_pin.then_some((before, path))
}

/// Splits the attributes of the last expression and its `return` off the end of the tokens.
fn split_lead(tokens: &[TokenTree]) -> (&[TokenTree], &[TokenTree]) {
    let is_return = matches!(tokens.last(), Some(TokenTree::Ident(word)) if word == "return");
    let mut length = usize::from(is_return);
    while let [.., TokenTree::Punct(pound), TokenTree::Group(group)] =
        &tokens[..tokens.len() - length]
        && pound.as_char() == '#'
        && group.delimiter() == Delimiter::Bracket
    {
        length += 2;
    }
    tokens.split_at(tokens.len() - length)
}

/// True if an expression that is a statement of its own can follow the tokens.
fn ends_a_statement(tokens: &[TokenTree]) -> bool {
    match tokens.last() {
        None => true,
        Some(TokenTree::Punct(punct)) => punct.as_char() == ';',
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
        Some(TokenTree::Ident(_) | TokenTree::Literal(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::future_at_the_end;

    #[test]
    fn returns_before_the_future_are_found() {
        let table = [
            ("{ Box::pin(async move {}) }", false),
            ("{ return Box::pin(async move {}) }", false),
            ("{ return Box::pin(async move {}); }", false),
            ("{ return ::std::boxed::Box::pin(async move {}) }", false),
            ("{ return async {} }", false),
            ("{ return async {}; }", false),
            ("{ #[allow(x)] return async {}; }", false),
            ("{ let a = b; async {} }", false),
            ("{ let a = |x| -> u8 { return 2 }; async {} }", false),
            (
                "{ let a = |x| match x { 0 => return 1, _ => 2 }; async {} }",
                false,
            ),
            ("{ if a { return b; } Box::pin(async move {}) }", true),
            ("{ if a { return b; } return Box::pin(async {}) }", true),
            ("{ if a { return b; } async {} }", true),
            ("{ a || return b; async {} }", true),
        ];
        for (body, expected) in table {
            let body: proc_macro2::Group = syn::parse_str(body).expect(body);
            let (shape, _) = future_at_the_end(&body).expect("a future");
            assert_eq!(shape.early_return().is_some(), expected, "{body}");
        }
    }

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
