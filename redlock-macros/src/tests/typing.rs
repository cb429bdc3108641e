//! Incomplete code: the function stays, so that an editor completes and checks its body.

use proc_macro2::TokenStream;

use crate::transform;

const ITEM: &str =
    "pub async fn charge(id: u64, order: Order) -> Result<Receipt, AppError> { send(id).await }";

fn lexed(text: &str) -> Option<TokenStream> {
    text.parse().ok()
}

/// The code with the closing brackets that an editor adds.
fn closed(text: &str) -> String {
    let mut open = Vec::new();
    let mut in_string = false;
    for c in text.chars() {
        match c {
            '"' => in_string = !in_string,
            '[' if !in_string => open.push(']'),
            '(' if !in_string => open.push(')'),
            ']' | ')' if !in_string => {
                open.pop();
            }
            _ => {}
        }
    }
    let quote = if in_string { "\"" } else { "" };
    let closing: String = open.into_iter().rev().collect();
    format!("{text}{quote}{closing}")
}

#[test]
fn at_every_stroke_of_the_attribute_the_function_is_there() {
    let whole = r#"resource = ["order:{order.id}", "user:{id}"], ttl = Duration::from_secs(60),
        pools = ["a", "b"], wait = "5s", min_validity = 0.5, max_hold = "1m", fencing = true,
        on_lost = "cancel", if_locked = "error", guard = lease,
        name = "charge", crate = ::redlock_runtime"#;
    let mut refused = 0;
    for (end, _) in whole.char_indices() {
        let attribute = closed(&whole[..end]);
        let Some(tokens) = lexed(&attribute) else {
            // The text ends in half a number or lifetime, which the compiler reports before the macro runs.
            continue;
        };
        let output = transform(tokens, lexed(ITEM).expect("an item"));
        let file = syn::parse2::<syn::File>(output.clone());
        let file = file.unwrap_or_else(|error| panic!("{attribute}: {error}: {output}"));
        let function = file.items.iter().find_map(|item| match item {
            syn::Item::Fn(function) => Some(function),
            _ => None,
        });
        let function = function.unwrap_or_else(|| panic!("{attribute}: {output}"));
        assert_eq!(function.sig.ident, "charge");
        let text = output.to_string();
        assert_eq!(
            text.matches("send (id) . await").count(),
            1,
            "{attribute}: {text}"
        );
        refused += usize::from(text.contains("compile_error"));
    }
    assert!(
        refused > 100,
        "most of these are no attributes yet: {refused}"
    );
}

/// Tokens that no parser accepts and that editors produce.
#[test]
fn a_body_that_is_being_typed_is_passed_on_token_by_token() {
    for body in [
        "lease.",
        "let x = order.",
        "match id {",
        "if",
        "foo(",
        "order.lines.iter().map(|l| l.",
    ] {
        // An editor closes open brackets and puts its marker at the cursor.
        let braces = body.matches('{').count();
        let parens = body.matches('(').count() - body.matches(')').count();
        let body = format!("{body} CURSOR {}{}", ")".repeat(parens), "}".repeat(braces));
        let item = format!("async fn charge(id: u64, order: Order) -> Result<(), E> {{ {body} }}");
        let tokens = lexed(&item).unwrap_or_else(|| panic!("{item}"));
        let attribute = lexed(r#"resource = "order:{id}", guard = lease"#).expect("tokens");
        let output = transform(attribute, tokens).to_string();
        let typed = lexed(&body).expect("tokens").to_string();
        assert!(output.contains(&typed), "{body}: {output}");
        assert!(!output.contains("compile_error"), "{body}: {output}");
    }
}
