//! The errors for items that cannot run under a lock.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Path, Signature};

/// The error for any item but a function, such as a statement.
pub(crate) const NO_FUNCTION: &str = "`#[redlock]` goes on an `async fn`; to lock a part of a function, write \
                                      `redlock_runtime::lock(\"…\").run(async { … }).await?`";
/// The error for a function that is a test.
const NO_TEST: &str = "`#[redlock]` would lock before the test's body has made its registry; \
                       annotate a function that the test calls";
/// The error for a function that is the program's entry point.
const NO_MAIN: &str = "`#[redlock]` would lock before the body of `main` has started the registry; \
                       annotate a function that it calls";

/// Returns the attribute that makes the function an entry point, and the error for it.
/// Such attributes are `#[test]`, `#[tokio::test]`, `#[rstest]` and `#[tokio::main]`. The lock would be acquired before
/// the body creates the registry. A test attribute above `#[redlock]` was expanded first, to a `#[test]`.
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

/// Returns the error for a function that lacks `async`. `#[tokio::main]` and similar attributes above `#[redlock]`
/// have already replaced an `async fn` by a function that blocks on it.
pub(crate) fn not_async(body: TokenStream, signature: &Signature) -> String {
    if mentions(body, "block_on") {
        return "the attribute above has already made this function synchronous; \
                annotate an `async` function that this one calls"
            .to_owned();
    }
    let output = signature.output.to_token_stream().to_string();
    if output.contains("Fut") {
        return "`#[redlock]` locks the future that a function ends in; \
                write it there as `Box::pin(async move { … })` or `async move { … }`"
            .to_owned();
    }
    let name = &signature.ident;
    format!("`#[redlock]` needs an `async` function; write `async fn {name}`")
}

/// True if the tokens contain the word, at any depth.
pub(crate) fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), word),
        token => is_word(&token, word),
    })
}

pub(crate) fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

pub(crate) fn is_punct(token: &TokenTree, punct: char) -> bool {
    matches!(token, TokenTree::Punct(it) if it.as_char() == punct)
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
}
