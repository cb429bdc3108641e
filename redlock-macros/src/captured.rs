//! The arguments that the body captures whole.
//!
//! An `async` block captures only the variables that it mentions, and of a struct only the
//! mentioned fields. The function around the block drops the rest, which happens after the release
//! of the lock. A buffered file that the body never mentions would then be flushed while another
//! caller holds the lock.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::{Attribute, FnArg, Ident, ReceiverKind, Type};

use crate::args::Args;
use crate::function::{Function, bindings};
use crate::shape::Shape;

/// An argument to capture whole.
pub(crate) struct Captured {
    name: Ident,
    /// The parameter's `#[cfg(…)]`.
    conditions: Vec<Attribute>,
}

impl Captured {
    /// A statement that captures the argument and does nothing else.
    pub(crate) fn statement(&self) -> TokenStream {
        let Self { name, conditions } = self;
        // The parameter's own token, so that it resolves as the parameter does. Its span is
        // different, so that an editor does not list it as a use of the parameter.
        let mut name = name.clone();
        name.set_span(Span::call_site().resolved_at(name.span()));
        let is_marked_unused = name.to_string().starts_with('_');
        let quiet = is_marked_unused.then(|| quote!(#[allow(clippy::used_underscore_binding)]));
        quote_spanned!(Span::mixed_site()=> #(#conditions)* #quiet let _ = &#name;)
    }
}

/// The captures of the body, last parameter first. Rust drops arguments in this order.
///
/// A name that the body does not use is not captured, so that the compiler still warns of it. A
/// name in an expression of the attribute is not captured either, as the expression may have moved
/// it.
pub(crate) fn captured(function: &Function, args: &Args) -> Vec<Captured> {
    if !matches!(function.shape, Shape::AsyncFn) {
        // The user's own block has its captures already, and runs unchanged.
        return Vec::new();
    }
    let values = args.values();
    let body = function.body.stream();
    let mut captured = Vec::new();
    for input in function.signature.inputs.iter().rev() {
        let (attributes, names) = owned(input);
        if attributes.iter().any(|a| a.path().is_ident("cfg_attr")) {
            continue;
        }
        let conditions = attributes.iter().filter(|a| a.path().is_ident("cfg"));
        let conditions: Vec<Attribute> = conditions.cloned().collect();
        for name in names.into_iter().rev() {
            let text = name.to_string();
            let plain = text.trim_start_matches("r#");
            let is_used = text == "self"
                || text.starts_with('_')
                || is_in_code(&body, &text)
                || is_in_text(&body, plain)
                || is_in_text(&values, plain);
            if is_used && !is_in_code(&values, &text) {
                let conditions = conditions.clone();
                captured.push(Captured { name, conditions });
            }
        }
    }
    captured
}

/// The names that a parameter binds. None for a reference, as dropping a reference does nothing.
fn owned(input: &FnArg) -> (&[Attribute], Vec<Ident>) {
    let is_reference = |ty: &Type| matches!(ty, Type::Reference(_));
    match input {
        FnArg::Receiver(receiver) => {
            let is_owned = match &receiver.kind {
                ReceiverKind::Value => true,
                ReceiverKind::Typed(_, ty) => !is_reference(ty),
                _ => false,
            };
            let name = is_owned.then(|| Ident::new("self", receiver.self_token.span));
            (&receiver.attrs, name.into_iter().collect())
        }
        FnArg::Typed(typed) => {
            let mut names = Vec::new();
            if !is_reference(&typed.ty) {
                bindings(&typed.pat, &mut names);
            }
            (&typed.attrs, names)
        }
    }
}

/// True if the name is in the place of a variable and not in the place of a field.
fn is_in_code(tokens: &TokenStream, name: &str) -> bool {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is = |token: Option<&TokenTree>, c: char| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == c);
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => is_in_code(&group.stream(), name),
        TokenTree::Ident(ident) if ident == name => {
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            let (after, second) = (tokens.get(at + 1), tokens.get(at + 2));
            let is_field = is(before, '.') || is(after, ':') && !is(second, ':');
            !is_field
        }
        _ => false,
    })
}

/// True if a string has the name as a placeholder.
fn is_in_text(tokens: &TokenStream, name: &str) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Group(group) => is_in_text(&group.stream(), name),
        TokenTree::Literal(literal) => literal.to_string().split('{').any(|part| {
            part.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['}', ':', '.']))
        }),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{captured, is_in_code, is_in_text};
    use crate::args::Args;
    use crate::errors::Errors;
    use crate::function::Function;

    fn names(attribute: &str, item: &str) -> String {
        let errors = &mut Errors::default();
        let args = Args::parse(attribute.parse().expect(attribute), errors);
        let function = Function::parse(item.parse().expect(item), errors).expect(item);
        let captured = captured(&function, &args);
        let names: Vec<String> = captured.iter().map(|one| one.name.to_string()).collect();
        names.join(" ")
    }

    #[test]
    fn what_is_used_is_captured_last_parameter_first() {
        let table = [
            ("", "async fn f(a: A, b: B) { a.x; b }", "b a"),
            ("", "async fn f(a: A, b: B) { b }", "b"),
            ("", "async fn f(_a: A, _: B) {}", "_a"),
            (
                "",
                "async fn f(self, (a, B { b, .. }): C) { (a, b) }",
                "b a self",
            ),
            ("", "async fn f(self: Arc<Self>) {}", "self"),
            ("", "async fn f(&self, a: &A, b: &mut B) { a; b }", ""),
            ("", "async fn f(self: &Self) {}", ""),
            ("", "async fn f(a: A) { println!(\"{a:?}\") }", "a"),
            (
                "resource = \"{a}:{b.c}\"",
                "async fn f(a: A, b: B, c: C) {}",
                "b a",
            ),
            ("resource = a", "async fn f(a: A, b: B) { a; b }", "b"),
            (
                "resource = key(&a.b), ttl = c.d",
                "async fn f(a: A, b: B, c: C) { (a, b, c) }",
                "b",
            ),
            ("", "async fn f(r#type: A) { r#type }", "r#type"),
            (
                "resource = \"{type}\"",
                "async fn f(r#type: A) {}",
                "r#type",
            ),
            (
                "",
                "async fn f(#[cfg_attr(x, cfg(y))] a: A, #[cfg(x)] b: B) { (a, b) }",
                "b",
            ),
            ("", "fn f(a: A) -> F { async move { a.b } }", ""),
        ];
        for (attribute, item, expected) in table {
            assert_eq!(names(attribute, item), expected, "{attribute} {item}");
        }
    }

    #[test]
    fn a_field_is_no_variable() {
        let code = [
            ("a", true),
            ("x.a", false),
            ("X { a: 1 }", false),
            ("X { a }", true),
            ("f(|| a.b)", true),
            ("a::b", true),
            ("aa", false),
        ];
        for (code, expected) in code {
            let tokens = code.parse().expect(code);
            assert_eq!(is_in_code(&tokens, "a"), expected, "{code}");
        }
        let text = [
            ("{a}", true),
            ("{b}{a:?}", true),
            ("{a.b}", true),
            ("{ab}", false),
            ("a", false),
        ];
        for (text, expected) in text {
            let tokens = format!("f(\"{text}\")").parse().expect(text);
            assert_eq!(is_in_text(&tokens, "a"), expected, "{text}");
        }
    }
}
