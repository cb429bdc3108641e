//! The words of a block, without those of the closures, functions and `async` blocks in it.

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};

/// Keywords that an expression can follow. After any other word, `|` is an operator.
const BEFORE_EXPRESSIONS: [&str; 10] = [
    "async", "break", "else", "if", "in", "match", "move", "return", "static", "while",
];

/// A word that belongs to the block itself, and not to an `async` block, a closure or a function in
/// it.
pub(crate) fn find_own(block: TokenStream, word: &str) -> Option<Span> {
    let tokens: Vec<TokenTree> = block.into_iter().collect();
    let mut at = 0;
    // True if the next braces are those of a function.
    let mut is_function = false;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '|' && begins_closure(&tokens[..at]) => {
                at = end_of_closure(&tokens, at);
                continue;
            }
            TokenTree::Punct(punct) => {
                is_function &= punct.as_char() != ';';
                // Both halves of the operator `||`.
                at += usize::from(punct.as_char() == '|' && punct.spacing() == Spacing::Joint);
            }
            TokenTree::Ident(ident) if ident == word => return Some(ident.span()),
            TokenTree::Ident(ident) => is_function |= ident == "fn",
            TokenTree::Group(group) => {
                let is_body = is_function && group.delimiter() == Delimiter::Brace;
                is_function &= !is_body;
                // A macro awaits what it gets in the function; where it returns is unknown.
                let is_unknown = word == "return" && is_of_macro(&tokens[..at]);
                let is_other = is_body || is_unknown || split_async(&tokens[..at]).is_some();
                let found = (!is_other).then(|| find_own(group.stream(), word));
                if let Some(found) = found.flatten() {
                    return Some(found);
                }
            }
            TokenTree::Literal(_) => {}
        }
        at += 1;
    }
    None
}

/// True if a `|` after these tokens begins the parameters of a closure.
fn begins_closure(before: &[TokenTree]) -> bool {
    match before {
        [] => true,
        [.., TokenTree::Punct(punct)] => punct.as_char() != '?',
        [.., TokenTree::Ident(word)] => BEFORE_EXPRESSIONS.iter().any(|it| word == it),
        [.., TokenTree::Punct(pound), TokenTree::Group(group)] => {
            pound.as_char() == '#' && group.delimiter() == Delimiter::Bracket
        }
        [.., TokenTree::Group(_) | TokenTree::Literal(_)] => false,
    }
}

/// The index after the closure whose parameters begin at `start`. A closure with a return type ends
/// with its block; another one ends before the next `,` or `;`.
fn end_of_closure(tokens: &[TokenTree], start: usize) -> usize {
    let is = |at: usize, c: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == c);
    let next = |from: usize, wanted: &dyn Fn(usize) -> bool| {
        let found = (from..tokens.len()).find(|&at| wanted(at));
        found.unwrap_or(tokens.len())
    };
    let body = next(start + 1, &|at| is(at, '|')) + 1;
    if is(body, '-') && is(body + 1, '>') {
        let is_block = |at: usize| matches!(&tokens[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        return (next(body, &is_block) + 1).min(tokens.len());
    }
    next(body, &|at| is(at, ',') || is(at, ';'))
}

/// True if the tokens end with the name of a macro and its `!`.
fn is_of_macro(before: &[TokenTree]) -> bool {
    matches!(before, [.., TokenTree::Ident(_), TokenTree::Punct(punct)] if punct.as_char() == '!')
}

/// Splits `async move` (or `async`) off the end of the tokens.
pub(crate) fn split_async(tokens: &[TokenTree]) -> Option<(&[TokenTree], &[TokenTree])> {
    let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(i) if i == word);
    let length = match tokens {
        [.., a, b] if is(a, "async") && is(b, "move") => 2,
        [.., a] if is(a, "async") => 1,
        _ => return None,
    };
    Some(tokens.split_at(tokens.len() - length))
}

#[cfg(test)]
mod tests {
    use super::find_own;

    #[test]
    fn a_blocks_own_words_are_found() {
        let table = [
            ("return", true),
            ("if a { b(return) }", true),
            ("let x = if a | b { return };", true),
            ("match x { A => { return } B => {} }", true),
            ("match x { A | B => return 1, C => {} }", true),
            ("let x = a || return;", true),
            ("let x = a()? | return;", true),
            ("f(|x| x, return)", true),
            ("let f = |x| x; return", true),
            ("let f = |x| -> [u8; 2] { x }; return", true),
            ("async {} return", true),
            ("async { return }; async move { return };", false),
            (
                "|x| { return }; move || { return }; async |x| { return };",
                false,
            ),
            ("|x| return", false),
            ("f(|x: u8| return x, 1)", false),
            ("let f = || || return;", false),
            ("return_if!(return); x!{ return }", false),
            ("#[x] |a| return", false),
            ("a.map(|x| -> u8 { return 2 })", false),
            ("a = |x| match x { 0 => return 1, _ => return 2 };", false),
            ("fn f(x: u8) -> u8 { if x { return } }", false),
            ("fn f() {} return", true),
            ("let f: fn(u8) = g; if f { return }", true),
            ("let f: fn(u8) = g; returns", false),
        ];
        for (block, expected) in table {
            let found = find_own(block.parse().expect(block), "return");
            assert_eq!(found.is_some(), expected, "{block}");
        }
        let block = "println!(\"{}\", x.await)".parse().expect("tokens");
        assert!(find_own(block, "await").is_some());
    }
}
