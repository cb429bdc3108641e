//! Strings in expressions that look like templates, but are not replaced.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{Ident, Lit};

/// A string that looks like a template, but is not replaced.
pub(crate) struct Unreplaced {
    pub(crate) span: Span,
    /// The text of the string.
    pub(crate) text: String,
    /// The first placeholder of a parameter in it, without the braces.
    pub(crate) inside: String,
}

/// Macros that use a string as it is. Another macro may replace its placeholders, as `format!` does.
const TAKE_STRINGS_AS_THEY_ARE: [&str; 3] = ["concat", "dbg", "vec"];

/// The strings of an expression that have the name of a parameter as a placeholder.
pub(crate) fn unreplaced(tokens: TokenStream, parameters: &[Ident]) -> Vec<Unreplaced> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let of_token = |(at, token): (usize, &TokenTree)| match token {
        TokenTree::Group(group) => {
            let is_opaque = match &tokens[..at] {
                [.., TokenTree::Ident(name), TokenTree::Punct(bang)] if bang.as_char() == '!' => {
                    !TAKE_STRINGS_AS_THEY_ARE.iter().any(|it| name == it)
                }
                _ => false,
            };
            if is_opaque {
                return Vec::new();
            }
            unreplaced(group.stream(), parameters)
        }
        TokenTree::Literal(token) => {
            let span = token.span();
            let text = match Lit::new(token.clone()) {
                Lit::Str(text) => text.value(),
                Lit::ByteStr(text) => String::from_utf8_lossy(&text.value()).into_owned(),
                Lit::CStr(text) => text.value().to_string_lossy().into_owned(),
                _ => return Vec::new(),
            };
            let found = placeholder_of(&text, parameters).map(str::to_owned);
            let found = found.map(|inside| Unreplaced { span, text, inside });
            found.into_iter().collect()
        }
        _ => Vec::new(),
    };
    tokens.iter().enumerate().flat_map(of_token).collect()
}

/// The number of strings in an expression.
pub(crate) fn strings_in(tokens: TokenStream) -> usize {
    let strings = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => strings_in(group.stream()),
        TokenTree::Literal(token) => {
            let literal = Lit::new(token);
            usize::from(matches!(
                literal,
                Lit::Str(_) | Lit::ByteStr(_) | Lit::CStr(_)
            ))
        }
        _ => 0,
    });
    strings.sum()
}

/// The first `{name…}` of a parameter in a text.
fn placeholder_of<'a>(text: &'a str, parameters: &[Ident]) -> Option<&'a str> {
    let mut parts = text.split('{').skip(1);
    parts.find_map(|part| {
        let (inside, _) = part.split_once('}')?;
        let name = inside.split([':', '.', '[', '(']).next()?.trim();
        let is_parameter = parameters.iter().any(|parameter| plain(parameter) == name);
        is_parameter.then_some(inside)
    })
}

/// A parameter's name as a template contains it: `type` for `r#type`.
pub(crate) fn plain(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}
