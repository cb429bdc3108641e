//! Phase one: the attribute's tokens become keys with values, each with its span.
//!
//! Parsing is tolerant: an error in one argument is recorded, and the next argument is still read.
//! A user with three mistakes sees three errors in one build.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Token};

use crate::errors::Errors;
use crate::parameters::Key;
use crate::suggest::{listed, nearest};

/// The parsed attribute.
#[derive(Default)]
pub(crate) struct Args {
    given: Vec<Arg>,
    /// All keys in the attribute. A broken `resource` is recorded here, so that it is not reported
    /// as missing too.
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

    /// The value of a parameter, if the attribute has it and it could be parsed.
    pub(crate) fn get(&self, key: Key) -> Option<&Expr> {
        self.given
            .iter()
            .find(|arg| arg.key == key)
            .map(|arg| &arg.value)
    }

    /// All values, as the user wrote them.
    pub(crate) fn values(&self) -> TokenStream {
        let values = self.given.iter().map(|arg| arg.value.to_token_stream());
        values.collect()
    }

    /// The span of the second of two parameters that exclude each other, if both are given.
    pub(crate) fn later_of(&self, one: Key, other: Key) -> Option<Span> {
        let mut both = self
            .given
            .iter()
            .filter(|arg| arg.key == one || arg.key == other);
        both.next()?;
        both.next().map(|later| later.span)
    }

    /// True if the attribute has the parameter, with a valid value or not.
    pub(crate) fn attempted(&self, key: Key) -> bool {
        self.attempted.contains(&key)
    }

    /// Parses one `key = value` and the comma after it.
    fn read_one(&mut self, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        if self.template_is_positional() && !begins_an_argument(input) {
            // An argument for `{}`, which the template's own error is about.
            return skip_to_next(input);
        }
        if input.peek(LitStr) {
            let literal: LitStr = input.parse()?;
            if input.peek(Token![=]) {
                let key = literal.value();
                self.attempted
                    .push(Key::named(&key).unwrap_or(Key::Resource));
                let message = format!("a parameter's name has no quotes; write `{key} = …`");
                errors.at(literal.span(), message);
            } else {
                self.attempted.push(Key::Resource);
                if !is_after_equals_sign() {
                    let written = with_names(&literal, &arguments_ahead(input));
                    errors.at(
                        literal.span(),
                        format!("a value needs its key; write `resource = {written}`"),
                    );
                }
            }
            return skip_to_next(input);
        }

        let name: Ident = input.call(Ident::parse_any).map_err(|error| {
            // The tokens cannot be parsed as any value; the hint names the missing part.
            self.attempted.push(Key::Resource);
            let example = Key::Resource.example();
            syn::Error::new(
                error.span(),
                format!("expected a parameter such as `{example}`"),
            )
        })?;
        if self.attempted.is_empty() && is_unkeyed(&name, input) {
            self.attempted.push(Key::Resource);
            let example = Key::Resource.example();
            errors.at(
                name.span(),
                format!("a value needs its key; write `{example}`"),
            );
            return skip_to_next(input);
        }
        let key = self.known(&name, errors);

        let other_sign = input.peek(Token![==]) || input.peek(Token![=>]);
        let assigned = !other_sign && input.parse::<Option<Token![=]>>()?.is_some();
        if !assigned || input.is_empty() || input.peek(Token![,]) {
            let Some(key) = key else {
                // The unknown name was reported already.
                return skip_to_next(input);
            };
            let (name_of, example) = (key.name(), key.example());
            let message = format!("`{name_of}` needs a value; write `{example}`");
            return Err(syn::Error::new(name.span(), message));
        }

        let mut value: Expr = input.parse()?;
        // The span of the invisible group of a `macro_rules!` fragment lies in the macro. The span
        // of its content lies at the caller's mistake.
        while let Expr::Group(group) = value {
            value = *group.expr;
        }
        if let Some(key) = key {
            let span = name.span();
            self.given.push(Arg { key, span, value });
        }
        comma(input)
    }

    /// True if the resource or the note is a template with a placeholder that has no name.
    fn template_is_positional(&self) -> bool {
        [Key::Resource, Key::Note].iter().any(|key| {
            let Some(Expr::Lit(ExprLit {
                lit: Lit::Str(template),
                ..
            })) = self.get(*key)
            else {
                return false;
            };
            let template = template.value().replace("{{", "");
            ["{}", "{:", "{0"].iter().any(|it| template.contains(it))
        })
    }

    /// The key of that name, unless the name is unknown or given twice.
    fn known(&mut self, name: &Ident, errors: &mut Errors) -> Option<Key> {
        let typed = name.to_string();
        let Some(key) = Key::named(&typed) else {
            let guess = nearest(&typed, Key::names()).or_else(|| meant(&typed));
            self.attempted.extend(guess.and_then(Key::named));
            let hint = guess.map_or_else(
                || format!("known: {}", listed(Key::names())),
                |near| format!("did you mean `{near}`?"),
            );
            errors.at(name.span(), format!("unknown parameter `{typed}`; {hint}"));
            return None;
        };
        if self.given.iter().any(|arg| arg.key == key) {
            errors.at(
                name.span(),
                format!("duplicate `{typed}`; it is given before, keep one"),
            );
            return None;
        }
        self.attempted.push(key);
        Some(key)
    }
}

/// The parameter with another name for the same thing.
fn meant(typed: &str) -> Option<&'static str> {
    const MEANT: [(&str, Key); 9] = [
        ("key", Key::Resource),
        ("keys", Key::Resource),
        ("lock", Key::Resource),
        ("expire", Key::Ttl),
        ("expires", Key::Ttl),
        ("timeout", Key::Wait),
        ("retries", Key::RetryCount),
        ("lease", Key::Guard),
        ("nodes", Key::Pools),
    ];
    let found = MEANT.iter().find(|(name, _)| *name == typed);
    found.map(|(_, key)| key.name())
}

/// True for an expression in the place of the first parameter, such as `id` or `format!(…)`.
fn is_unkeyed(name: &Ident, input: ParseStream<'_>) -> bool {
    let typed = name.to_string();
    let is_known = Key::named(&typed).is_some() || nearest(&typed, Key::names()).is_some();
    let ends = input.is_empty() || input.peek(Token![,]);
    let goes_on = input.peek(Token![!]) || input.peek(Token![.]) || input.peek(Token![::]);
    !is_known && (ends || goes_on)
}

/// True for `#[redlock = "…"]`, which rustc refuses.
fn is_after_equals_sign() -> bool {
    let written = Span::call_site().source_text().unwrap_or_default();
    let name_ends =
        written.find(|c: char| !(c.is_alphanumeric() || "#[_:".contains(c) || c.is_whitespace()));
    name_ends.is_some_and(|at| written[at..].starts_with('='))
}

/// The arguments that follow a template, as for `format!`.
fn arguments_ahead(input: ParseStream<'_>) -> Vec<String> {
    let ahead = input.fork();
    let mut arguments = Vec::new();
    while ahead.parse::<Token![,]>().is_ok() && !begins_an_argument(&ahead) {
        let Ok(argument) = ahead.parse::<Expr>() else {
            break;
        };
        arguments.push(argument.to_token_stream().to_string().replace(' ', ""));
    }
    arguments
}

/// The literal with an argument in the place of each `{}`.
fn with_names(template: &LitStr, arguments: &[String]) -> String {
    let mut written = template.token().to_string();
    for argument in arguments {
        written = written.replacen("{}", &format!("{{{argument}}}"), 1);
    }
    written
}

/// The comma between two arguments; optional after the last one.
fn comma(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() {
        return Ok(());
    }
    match input.parse::<Option<Token![,]>>()? {
        Some(_) => Ok(()),
        None => Err(input.error("expected `,` between parameters")),
    }
}

/// Skips to the comma before the next argument, so that the rest of a broken value (`f::<A, B>(`)
/// causes no further errors.
fn skip_to_next(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() {
        let was_comma = input.peek(Token![,]);
        input.step(|cursor| match cursor.token_tree() {
            Some((_, rest)) => Ok(((), rest)),
            None => Ok(((), *cursor)),
        })?;
        if was_comma && begins_an_argument(input) {
            break;
        }
    }
    Ok(())
}

fn begins_an_argument(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    let Ok(name) = ahead.call(Ident::parse_any) else {
        return false;
    };
    ahead.peek(Token![=]) || Key::named(&name.to_string()).is_some()
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
        for key in Key::ALL {
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
        let table: [(&str, &[&str]); 8] = [
            ("", &[]),
            (r#"resource = "a","#, &[]),
            ("ttl =", &[needs]),
            ("ttl == 5", &[needs]),
            ("ttl = , tll = 5", &[needs, unknown]),
            // The placeholder is reported with the template.
            (r#"resource = "order:{}", id, order.id"#, &[]),
            (r#"resource = "{{}}", tll"#, &[unknown]),
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
