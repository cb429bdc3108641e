//! Items that cannot run under a lock, and the errors that say so.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{Attribute, Path, ReturnType, Signature, Type};

use crate::output::future_output;

/// Keywords after the visibility that begin an item other than a function.
const ITEMS: [&str; 13] = [
    "struct",
    "enum",
    "union",
    "trait",
    "impl",
    "mod",
    "type",
    "static",
    "const",
    "use",
    "extern",
    "macro_rules",
    "let",
];

/// The qualifiers that may precede `fn`.
const QUALIFIERS: [&str; 7] = [
    "pub", "default", "const", "async", "unsafe", "safe", "extern",
];

/// True if `fn` is the first word after the qualifiers. `const F: fn() = …` has a `fn` too.
pub(crate) fn is_function(header: &[TokenTree]) -> bool {
    let mut words = header.iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word),
        _ => None,
    });
    words
        .find(|word| !QUALIFIERS.iter().any(|qualifier| word == qualifier))
        .is_some_and(|word| word == "fn")
}

/// The keyword of an item that is no function, or `None` for a function.
pub(crate) fn keyword_of_other_item(header: &[TokenTree]) -> Option<Span> {
    if is_function(header) {
        return None;
    }
    let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(i) if i == word);
    let keyword = header
        .iter()
        .find(|token| ITEMS.iter().any(|word| is(token, word)));
    Some(
        keyword
            .or(header.first())
            .map_or_else(Span::call_site, TokenTree::span),
    )
}

/// The error for a function that is a test.
const NO_TEST: &str = "`#[redlock]` would lock before the test's body has made its registry; \
                       annotate a function that the test calls";
/// The error for a function that is the program's entry point.
const NO_MAIN: &str = "`#[redlock]` would lock before the body of `main` has started the registry; \
                       annotate a function that it calls";

/// The attribute that makes an entry point of the function, and the error for it: `#[test]`,
/// `#[tokio::test]`, `#[rstest]`, `#[tokio::main]` and their like. The lock would come before the body,
/// which makes the registry. A test's attribute above `#[redlock]` was expanded before, and has left a
/// `#[test]` behind.
pub(crate) fn entry_point(attributes: &[Attribute]) -> Option<(&Path, &'static str)> {
    attributes.iter().find_map(|attribute| {
        let path = attribute.path();
        let last = &path.segments.last()?.ident;
        if last == "test" || last == "rstest" {
            Some((path, NO_TEST))
        } else if last == "main" {
            Some((path, NO_MAIN))
        } else {
            None
        }
    })
}

/// The error for a function that is not `async`. `#[tokio::main]` and similar attributes above
/// `#[redlock]` have already replaced the `async fn` by a function that blocks on it.
pub(crate) fn not_async(body: TokenStream, signature: &Signature) -> String {
    if mentions(body, "block_on") {
        return "the attribute above has already made this function synchronous; \
                annotate an `async` function that this one calls"
            .to_owned();
    }
    if !matches!(future_output(&signature.output), Type::Infer(_)) {
        return "`#[redlock]` locks the future that a function ends in; \
                write it there as `Box::pin(async move { … })` or `async move { … }`"
            .to_owned();
    }
    let name = &signature.ident;
    let write = format!("`#[redlock]` needs an `async` function; write `async fn {name}`");
    if is_a_value(&signature.output) {
        return write;
    }
    format!("{write}, or end the function in `Box::pin(async move {{ … }})` if it returns a future")
}

/// True for a type that is surely no future. A name may be an alias of `Pin<Box<dyn Future<…>>>`.
fn is_a_value(output: &ReturnType) -> bool {
    const VALUES: [&str; 20] = [
        "Result", "Option", "Vec", "String", "bool", "char", "u8", "u16", "u32", "u64", "u128",
        "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
    ];
    let is_value = |ty: &Type| match ty {
        Type::Path(ty) => {
            let last = ty.path.segments.last();
            last.is_some_and(|last| VALUES.iter().any(|value| last.ident == value))
        }
        Type::Tuple(_) | Type::Reference(_) | Type::Array(_) | Type::Never(_) => true,
        _ => false,
    };
    match output {
        ReturnType::Default => true,
        ReturnType::Type(_, ty) => is_value(ty),
    }
}

fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{NO_MAIN, NO_TEST};
    use crate::errors::Errors;
    use crate::function::Function;

    fn error(item: &str) -> Option<String> {
        let mut errors = Errors::default();
        let function = Function::parse(item.parse().expect(item), &mut errors);
        let messages = errors.messages();
        assert_eq!(function.is_none(), !messages.is_empty(), "{item}");
        assert!(messages.len() <= 1, "{item}: {messages:?}");
        messages.into_iter().next()
    }

    #[test]
    fn an_entry_point_is_told_by_the_last_name_of_its_attribute() {
        let table = [
            ("#[test]", Some(NO_TEST)),
            ("#[tokio::test]", Some(NO_TEST)),
            ("#[tokio::test(start_paused = true)]", Some(NO_TEST)),
            ("#[actix_web::test]", Some(NO_TEST)),
            ("#[test_log::test(tokio::test)]", Some(NO_TEST)),
            ("#[::core::prelude::v1::test]", Some(NO_TEST)),
            ("#[rstest] #[case(1)]", Some(NO_TEST)),
            ("#[instrument] #[rstest::rstest]", Some(NO_TEST)),
            ("#[tokio::main]", Some(NO_MAIN)),
            ("#[instrument] #[actix_web::main]", Some(NO_MAIN)),
            ("#[cfg(test)]", None),
            ("#[doc = \"test\"]", None),
            ("#[test::instrument]", None),
            ("#[main::instrument]", None),
        ];
        for (attributes, expected) in table {
            let message = error(&format!("{attributes} async fn f() {{}}"));
            assert_eq!(message.as_deref(), expected, "{attributes}");
        }
    }

    #[test]
    fn async_fn_is_advised_alone_only_if_the_function_returns_no_future() {
        let table = [
            ("fn f() {}", true),
            ("fn f() -> io::Result<u8> {}", true),
            ("fn f() -> (u8, Answer) {}", true),
            ("fn f() -> &str {}", true),
            ("fn f() -> Answer {}", false),
            ("fn f() -> crate::Answer<u8> {}", false),
        ];
        let advice = "`#[redlock]` needs an `async` function; write `async fn f`";
        for (item, alone) in table {
            let message = error(item).expect(item);
            assert!(message.starts_with(advice), "{item}: {message}");
            assert_eq!(message == advice, alone, "{item}: {message}");
        }
    }
}
