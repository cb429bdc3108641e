//! Phase one: parses the attribute's tokens into keys with values, each with its span.
//!
//! Parsing is tolerant: an error in one argument is recorded, and the next argument is still read.
//! A user with three mistakes sees three errors in one build.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Token};

use crate::errors::{Errors, listed, nearest};
use crate::parameters::Key;

/// The parsed attribute.
#[derive(Default)]
pub(crate) struct Args {
    given: Vec<Arg>,
    /// All keys in the attribute, even those whose values could not be parsed.
    /// A broken `resource` is recorded here, so that it is not also reported as missing.
    attempted: Vec<Key>,
}

struct Arg {
    key: Key,
    /// The span of the key.
    span: Span,
    value: Expr,
}

impl Args {
    /// Parses the attribute and adds its errors to `errors`.
    pub(crate) fn parse(attribute: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        let read_all = |input: ParseStream<'_>| {
            while !input.is_empty() {
                if let Err(error) = args.read_one(input, errors) {
                    errors.push(error);
                    skip_to_next(input)?;
                }
            }
            Ok(())
        };
        if let Err(error) = read_all.parse2(attribute) {
            errors.push(error);
        }
        args
    }

    /// Returns the value of a parameter, if the attribute has it and its value was parsed.
    pub(crate) fn get(&self, key: Key) -> Option<&Expr> {
        self.given
            .iter()
            .find(|arg| arg.key == key)
            .map(|arg| &arg.value)
    }

    /// Returns the span of the later of two parameters, if the attribute has both.
    pub(crate) fn later_of(&self, one: Key, other: Key) -> Option<Span> {
        let mut both = self
            .given
            .iter()
            .filter(|arg| arg.key == one || arg.key == other);
        both.next()?;
        both.next().map(|later| later.span)
    }

    /// True if the attribute has the parameter, even with an invalid value.
    pub(crate) fn attempted(&self, key: Key) -> bool {
        self.attempted.contains(&key)
    }

    /// Parses one `key = value` and the comma after it.
    fn read_one(&mut self, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        if self.attempted.is_empty()
            && let Some((span, written)) = value_without_key(input)
        {
            self.attempted.push(Key::Resource);
            errors.at(span, format!("a value needs its key; write `{written}`"));
            return skip_to_next(input);
        }
        let is_positional = |arg: &Arg| match &arg.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(template),
                ..
            }) => template.value().contains("{}"),
            _ => false,
        };
        if !begins_an_argument(input) && self.given.iter().any(is_positional) {
            // Skip an argument for `{}`, because the template's own error covers it.
            return skip_to_next(input);
        }
        let name: Ident = input.call(Ident::parse_any).map_err(|error| {
            // Take the tokens for a broken resource. The hint names the missing part.
            self.attempted.push(Key::Resource);
            let example = Key::Resource.example();
            let message = format!("expected a parameter such as `{example}`");
            syn::Error::new(error.span(), message)
        })?;
        let key = self.known(&name, errors);
        let assigned = input.parse::<Option<Token![=]>>()?.is_some();
        if !assigned || input.is_empty() || input.peek(Token![,]) {
            let Some(key) = key else {
                // `known` has already reported the unknown name.
                return skip_to_next(input);
            };
            let (name_of, example) = (key.name(), key.example());
            let message = format!("`{name_of}` needs a value; write `{example}`");
            return Err(syn::Error::new(name.span(), message));
        }

        // Parse a fork, because syn would also report the unread tokens of a broken list.
        let ahead = input.fork();
        let mut value: Expr = ahead.parse().map_err(|error| {
            let is_incomplete = error.to_string().starts_with("unexpected end of input");
            let here = || input.error("this value is incomplete");
            if is_incomplete { here() } else { error }
        })?;
        input.advance_to(&ahead);
        // Unwrap the invisible group of a `macro_rules!` fragment: the group's span points into the macro, but
        // the span of its content points at the caller's mistake.
        while let Expr::Group(group) = value {
            value = *group.expr;
        }
        if let Some(key) = key {
            let span = name.span();
            self.given.push(Arg { key, span, value });
        }
        if !input.is_empty() && input.parse::<Option<Token![,]>>()?.is_none() {
            return Err(input.error("expected `,` between parameters"));
        }
        Ok(())
    }

    /// Returns the key of that name. Reports a name that is unknown or given twice.
    fn known(&mut self, name: &Ident, errors: &mut Errors) -> Option<Key> {
        let typed = name.to_string();
        let Some(key) = Key::named(&typed) else {
            let small = typed.to_lowercase();
            let guess = nearest(&small, Key::names()).or_else(|| meant(&small));
            self.attempted.extend(guess.and_then(Key::named));
            let hint = guess.map_or_else(
                || format!("known: {}", listed(Key::names())),
                |near| format!("did you mean `{near}`?"),
            );
            errors.at(name.span(), format!("unknown parameter `{typed}`; {hint}"));
            return None;
        };
        if self.given.iter().any(|arg| arg.key == key) {
            let message = format!("duplicate `{typed}`; keep one");
            errors.at(name.span(), message);
            return None;
        }
        self.attempted.push(key);
        Some(key)
    }
}

/// Returns the parameter that the user means by another word, such as `timeout`.
fn meant(typed: &str) -> Option<&'static str> {
    match typed {
        "key" | "keys" | "lock" => Some("resource"),
        "expire" | "expires" => Some("ttl"),
        "timeout" => Some("wait"),
        "retries" => Some("retry_count"),
        "lease" => Some("guard"),
        "nodes" => Some("pools"),
        _ => None,
    }
}

/// Returns the span of a value that lacks its key, and the right spelling.
/// Such values are `"order:{id}"`, `id` and `format!(…)`.
fn value_without_key(input: ParseStream<'_>) -> Option<(Span, String)> {
    let ahead = input.fork();
    if let Ok(literal) = ahead.parse::<LitStr>() {
        let written = format!("resource = {}", literal.token());
        return (!ahead.peek(Token![=])).then(|| (literal.span(), written));
    }
    let name = ahead.call(Ident::parse_any).ok()?;
    let typed = name.to_string();
    let is_known = Key::named(&typed).is_some() || nearest(&typed, Key::names()).is_some();
    let ends = ahead.is_empty() || ahead.peek(Token![,]);
    let goes_on = ahead.peek(Token![!]) || ahead.peek(Token![.]) || ahead.peek(Token![::]);
    let is_value = !is_known && (ends || goes_on);
    is_value.then(|| (name.span(), Key::Resource.example().to_owned()))
}

/// Skips to the comma before the next argument.
/// The rest of a broken value, such as `f::<A, B>(`, then causes no further errors.
fn skip_to_next(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() {
        let was_comma = input.parse::<Token![,]>().is_ok();
        if !was_comma {
            input.parse::<TokenTree>()?;
        } else if begins_an_argument(input) {
            break;
        }
    }
    Ok(())
}

fn begins_an_argument(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    let name = ahead.call(Ident::parse_any);
    name.is_ok_and(|name| ahead.peek(Token![=]) || Key::named(&name.to_string()).is_some())
}

#[cfg(test)]
mod tests {
    use super::Args;
    use crate::errors::Errors;
    use crate::parameters::Key;

    fn parse(attribute: &str) -> (Args, Vec<String>) {
        let mut errors = Errors::default();
        let args = Args::parse(attribute.parse().expect("tokens"), &mut errors);
        (args, errors.messages())
    }

    #[test]
    fn every_example_is_read() {
        for key in Key::EACH {
            let example = key.example();
            let (args, errors) = parse(example);
            assert!(args.get(*key).is_some(), "{example}");
            assert!(errors.is_empty(), "{example}: {errors:?}");
        }
    }

    #[test]
    fn each_slip_is_named_once() {
        let needs = "`ttl` needs a value; write `ttl = 60_000`";
        let unknown = "unknown parameter `tll`; did you mean `ttl`?";
        let table: [(&str, &[&str]); 7] = [
            ("", &[]),
            (r#"resource = "a","#, &[]),
            ("ttl =", &[needs]),
            ("ttl = , tll = 5", &[needs, unknown]),
            // The check of the template reports the placeholder.
            (r#"resource = "order:{}", id, order.id"#, &[]),
            (r#"resource = "{{}}", tll = 5"#, &[unknown]),
            ("ttl = 5 + , guard = x", &["expected an expression"]),
        ];
        for (attribute, expected) in table {
            assert_eq!(parse(attribute).1, expected, "{attribute}");
        }
    }

    #[test]
    fn what_follows_a_slip_is_still_read() {
        let (args, errors) = parse("ttl = f::<A, B>(1) oops, guard = lease");
        assert_eq!(errors.len(), 1);
        assert!(args.get(Key::Guard).is_some());
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let (_, errors) = parse("foo = 1");
        assert!(errors[0].starts_with("unknown parameter `foo`; known: `resource`, `ttl`,"));
        assert!(errors[0].ends_with("`crate`"));
    }
}
