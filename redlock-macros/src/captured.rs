//! The arguments that the body captures whole.
//!
//! An `async` block captures only the variables that it mentions, and of a struct only the
//! mentioned fields. The function around the block drops the rest, which happens after the release
//! of the lock. A buffered file that the body never mentions would then be flushed while another
//! caller holds the lock.
//!
//! A value without a name cannot be captured: that of a `_`, the fields that a pattern leaves out
//! with `..`, and the value that a `ref` borrows. The guide says so.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::{Attribute, FnArg, Ident, ReceiverKind, Type};

use crate::args::Args;
use crate::function::{Binding, Function, bindings};
use crate::shape::Shape;

/// An argument to capture whole.
pub(crate) struct Captured {
    name: Ident,
    /// The `#[cfg(…)]` of the parameter and of the fields in its pattern.
    conditions: Vec<Attribute>,
}

impl Captured {
    /// The argument as the runtime's `capture!` takes it.
    pub(crate) fn item(&self) -> TokenStream {
        let Self { name, conditions } = self;
        // The parameter's own token, so that it resolves as the parameter does. Its span is
        // different, so that an editor does not list it as a use of the parameter.
        let mut name = name.clone();
        name.set_span(Span::call_site().resolved_at(name.span()));
        quote_spanned!(Span::mixed_site()=> #(#conditions)* #name)
    }
}

/// The captures of the body, last parameter first. Rust drops arguments in this order.
///
/// A name in an expression of the attribute is not captured, as the expression may have moved it.
pub(crate) fn captured(function: &Function, args: &Args) -> Vec<Captured> {
    if !matches!(function.shape, Shape::AsyncFn) {
        // The user's own block has its captures already, and runs unchanged.
        return Vec::new();
    }
    let values = args.values();
    let inputs = function.signature.inputs.iter().rev();
    let bindings = inputs.flat_map(|input| owned(input).into_iter().rev());
    bindings
        .filter(|binding| !has_conditional_condition(&binding.attributes))
        .filter(|binding| !is_in_code(&values, &binding.name.to_string()))
        .map(|binding| {
            let conditions = binding.attributes.iter();
            let conditions = conditions.filter(|a| a.path().is_ident("cfg")).cloned();
            Captured {
                conditions: conditions.collect(),
                name: binding.name,
            }
        })
        .collect()
}

/// True if the binding may exist or not, on a condition that only rustc can read.
fn has_conditional_condition(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| a.path().is_ident("cfg_attr"))
}

/// The names that a parameter binds. None for a reference, as dropping a reference does nothing.
fn owned(input: &FnArg) -> Vec<Binding> {
    let is_reference = |ty: &Type| matches!(ty, Type::Reference(_));
    let is_owned = match input {
        FnArg::Receiver(receiver) => match &receiver.kind {
            ReceiverKind::Value => true,
            ReceiverKind::Typed(_, ty) => !is_reference(ty),
            _ => false,
        },
        FnArg::Typed(typed) => !is_reference(&typed.ty),
    };
    if is_owned {
        bindings(input)
    } else {
        Vec::new()
    }
}

/// True if the name is in the place of a variable, and not of a field or of a label.
fn is_in_code(tokens: &TokenStream, name: &str) -> bool {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is = |at: Option<usize>, c: char| {
        let token = at.and_then(|at| tokens.get(at));
        matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == c)
    };
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => is_in_code(&group.stream(), name),
        TokenTree::Ident(ident) if ident == name => {
            let (before, second_before) = (at.checked_sub(1), at.checked_sub(2));
            let (after, second_after) = (Some(at + 1), Some(at + 2));
            // `order.n`, and not `0..order`.
            let follows_a_dot = is(before, '.') && !is(second_before, '.');
            // `n: 1`, and not `n::<T>`.
            let precedes_a_colon = is(after, ':') && !is(second_after, ':');
            !(follows_a_dot || precedes_a_colon || is(before, '\''))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{captured, is_in_code};
    use crate::args::Args;
    use crate::errors::Errors;
    use crate::function::Function;

    fn names(attribute: &str, item: &str) -> String {
        let errors = &mut Errors::default();
        let args = Args::parse(attribute.parse().expect(attribute), errors);
        let function = Function::parse(item.parse().expect(item), errors).expect(item);
        let captured = captured(&function, &args);
        let items = captured
            .iter()
            .map(|one| one.item().to_string().replace(' ', ""));
        items.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_owned_is_captured_last_parameter_first() {
        let table = [
            ("", "async fn f(a: A, b: B) { a.x; b }", "b a"),
            ("", "async fn f(a: A, b: B) { A { b, ..a } }", "b a"),
            ("", "async fn f(a: A, _b: B, _: C) {}", "_b a"),
            (
                "",
                "async fn f(self, (a, B { b, .. }): C) { (a, b) }",
                "b a self",
            ),
            ("", "async fn f(self: Arc<Self>) {}", "self"),
            ("", "async fn f(&self, a: &A, b: &mut B) { a; b }", ""),
            ("", "async fn f(self: &Self) {}", ""),
            (
                "resource = \"{a }:{b.c}\"",
                "async fn f(a: A, b: B) {}",
                "b a",
            ),
            ("resource = a", "async fn f(a: A, b: B) { a; b }", "b"),
            (
                "resource = key(&a.b), ttl = c.d",
                "async fn f(a: A, b: B, c: C) { (a, b, c) }",
                "b",
            ),
            (
                "resource = key(A { b: 1, ..a }, ..c)",
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
                "#[cfg(x)]b",
            ),
            (
                "",
                "async fn f(#[cfg(x)] A { #[cfg(y)] a, b: B { c, #[cfg_attr(x, cfg(y))] d } }: A) {}",
                "#[cfg(x)]c #[cfg(x)]#[cfg(y)]a",
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
            ("0..a", true),
            ("..a.n", true),
            ("X { b: 1, ..a }", true),
            ("x..=a", true),
            ("'a: loop { break 'a }", false),
        ];
        for (code, expected) in code {
            let tokens = code.parse().expect(code);
            assert_eq!(is_in_code(&tokens, "a"), expected, "{code}");
        }
    }
}
