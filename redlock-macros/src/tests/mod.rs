//! Tests of the attribute as a whole, from tokens to tokens.

mod anything;
mod expansion;
mod typing;

use expect_test::Expect;

use crate::transform;

/// Compares the whole expansion.
fn check_in_full(attribute: &str, item: &str, expected: &Expect) {
    let tokens = transform(
        attribute.parse().expect("attribute"),
        item.parse().expect("item"),
    );
    compare(&tokens.to_string(), expected);
}

/// Compares the expansion with shortened paths, for readers.
fn check(attribute: &str, item: &str, expected: &Expect) {
    let tokens = transform(
        attribute.parse().expect("attribute"),
        item.parse().expect("item"),
    );
    compare(&shortened(&tokens.to_string()), expected);
}

fn shortened(text: &str) -> String {
    let mut text = text.to_owned();
    for prefix in [
        ":: redlock_runtime :: __private :: inventory ::",
        ":: redlock_runtime :: __private ::",
        ":: core :: result :: Result ::",
        ":: core :: option :: Option ::",
        ":: core :: future ::",
        ":: core :: pin ::",
        ":: core :: time ::",
        ":: core :: primitive ::",
        ":: core ::",
    ] {
        text = text.replace(&format!("{prefix} "), "");
    }
    text
}

fn compare(text: &str, expected: &Expect) {
    let file = syn::parse_str(text).expect("the output is a file");
    expected.assert_eq(&prettyplease::unparse(&file));
}
