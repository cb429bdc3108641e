//! The arguments that the body captures whole.
//!
//! An `async` block captures only the variables that it mentions, and of a struct only the mentioned fields. The
//! function around the block drops the rest, after the lock has been released. A buffered file that the body never
//! mentions would then be flushed while another caller holds the lock.
//!
//! A value needs a name to be captured. The value of a `_`, the fields that a pattern leaves out
//! with `..`, and the value that a `ref` borrows have none. The guide says so.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Attribute, FnArg, Ident, ReceiverKind, Type};

use crate::async_kind::AsyncKind;
use crate::function::{Function, bindings};

/// An argument to capture whole.
pub(crate) struct Captured {
    name: Ident,
    /// The `#[cfg(…)]` of the parameter.
    conditions: Vec<Attribute>,
}

impl Captured {
    /// Returns the argument as the runtime's `capture!` takes it.
    pub(crate) fn item(&self) -> TokenStream {
        let Self { name, conditions } = self;
        // Reuse the parameter's own token, so that it resolves as the parameter does. Change its
        // span, so that an editor does not list it as a use of the parameter. `gen` must be raw,
        // because it is a keyword in the edition of the runtime, whose macro takes the name.
        let raw = (name == "gen").then(|| Ident::new_raw("gen", name.span()));
        let mut name = raw.unwrap_or_else(|| name.clone());
        name.set_span(Span::call_site().resolved_at(name.span()));
        quote_spanned!(Span::mixed_site()=> #(#conditions)* #name)
    }
}

/// Returns the captures of the body, last parameter first, as Rust drops arguments.
pub(crate) fn captured(function: &Function) -> Vec<Captured> {
    if !matches!(function.kind, AsyncKind::AsyncFn) {
        // The user's own block runs unchanged, with the captures that the user gave it.
        return Vec::new();
    }
    let of_input = |input| {
        let conditions = conditions(input)?;
        let names = bindings(input).into_iter().rev();
        let captured = names.map(|name| Captured {
            name,
            conditions: conditions.clone(),
        });
        Some(captured.collect::<Vec<_>>())
    };
    let inputs = function.signature.inputs.iter().rev();
    inputs.filter_map(of_input).flatten().collect()
}

/// Returns the `#[cfg(…)]` of a parameter to capture, or `None` if it is left out. References are left out, because
/// dropping them does nothing. A parameter whose condition only rustc can evaluate is left out too.
fn conditions(input: &FnArg) -> Option<Vec<Attribute>> {
    let is_reference = |ty: &Type| matches!(ty, Type::Reference(_));
    let (is_owned, attributes) = match input {
        FnArg::Receiver(receiver) => {
            let is_owned = match &receiver.kind {
                ReceiverKind::Value => true,
                ReceiverKind::Typed(_, ty) => !is_reference(ty),
                _ => false,
            };
            (is_owned, &receiver.attrs)
        }
        FnArg::Typed(typed) => (!is_reference(&typed.ty), &typed.attrs),
    };
    let is = |name| move |attribute: &&Attribute| attribute.path().is_ident(name);
    let is_known = is_owned && !attributes.iter().any(|it| is("cfg_attr")(&it));
    is_known.then(|| attributes.iter().filter(is("cfg")).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::captured;
    use crate::errors::Errors;
    use crate::function::Function;

    fn names(item: &str) -> String {
        let errors = &mut Errors::default();
        let function = Function::parse(item.parse().expect(item), errors).expect(item);
        let captured = captured(&function);
        let items = captured
            .iter()
            .map(|one| one.item().to_string().replace(' ', ""));
        items.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_owned_is_captured_last_parameter_first() {
        let table = [
            ("async fn f(a: A, b: B) { a.x; b }", "b a"),
            ("async fn f(a: A, b: B) { A { b, ..a } }", "b a"),
            ("async fn f(a: A, _b: B, _: C) {}", "_b a"),
            (
                "async fn f(self, (a, B { b, .. }): C) { (a, b) }",
                "b a self",
            ),
            ("async fn f(self: Arc<Self>) {}", "self"),
            ("async fn f(&self, a: &A, b: &mut B) { a; b }", ""),
            ("async fn f(self: &Self) {}", ""),
            ("async fn f(r#type: A) { r#type }", "r#type"),
            (
                "async fn f(#[cfg_attr(x, cfg(y))] a: A, #[cfg(x)] b: B) { (a, b) }",
                "#[cfg(x)]b",
            ),
            (
                "async fn f(#[cfg(x)] A { #[cfg(y)] a, b: B { c } }: A) {}",
                "#[cfg(x)]c",
            ),
            ("fn f(a: A) -> F { async move { a.b } }", ""),
        ];
        for (item, expected) in table {
            assert_eq!(names(item), expected, "{item}");
        }
    }
}
