//! Values as users write them, lowered to plain values.

mod constant;
mod pools;

use std::fmt::Display;
use std::time::Duration;

use syn::{Expr, ExprLit, ExprUnary, Lit, LitInt, LitStr, UnOp};

use crate::errors::Errors;
use crate::parameters::{Key, Kind, Variant};
use crate::plan::{Setting, Value};

use crate::suggest::nearest;
use constant::{is_constant, is_path_to};
use pools::pools;

/// Message for a ttl below 10 ms, zero and negative numbers included.
pub(crate) const TTL_TOO_SHORT: &str =
    "`ttl` must be at least 10 ms; write `ttl = 60_000` or `ttl = \"60s\"`";

/// The value without the invisible group of a `macro_rules!` fragment and without parentheses.
pub(crate) fn bare(value: &Expr) -> &Expr {
    match value {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        other => other,
    }
}

/// The value as a literal, if it is one.
pub(crate) fn literal(value: &Expr) -> Option<&Lit> {
    match bare(value) {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

fn is_negative_literal(value: &Expr) -> bool {
    match bare(value) {
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => literal(expr).is_some(),
        _ => false,
    }
}

/// Reports a value of the wrong kind and shows the right spelling.
fn refuse(key: Key, value: &Expr, takes: impl Display, errors: &mut Errors) {
    let (name, example) = (key.name(), key.example());
    errors.under(value, format!("`{name}` takes {takes}; write `{example}`"));
}

/// The value of a parameter of kind `takes`. `None` if an error was reported.
pub(crate) fn lower(key: Key, value: &Expr, errors: &mut Errors) -> Option<Setting> {
    match key.kind() {
        Kind::Time => duration(key, value, None, errors),
        Kind::TimeOr { word, variant } => match literal(value) {
            Some(Lit::Str(text)) if text.value() == word => {
                Some(Setting::Literal(Value::Variant(variant)))
            }
            _ if is_path_to(variant, value) => {
                Some(Setting::Literal(Value::Path(bare(value).clone())))
            }
            _ => duration(key, value, Some(word), errors),
        },
        // An integer is milliseconds; a number with a decimal point is a fraction.
        Kind::TimeOrFraction(_) => match literal(value) {
            Some(Lit::Float(_)) => fraction(key, value, errors),
            _ => duration(key, value, None, errors),
        },
        Kind::Count => count(key, value, errors),
        Kind::Fraction => fraction(key, value, errors),
        Kind::Flag => flag(key, value, errors),
        Kind::Word(words) if words.iter().any(|(_, variant)| is_path_to(*variant, value)) => {
            Some(Setting::Literal(Value::Path(bare(value).clone())))
        }
        Kind::Word(words) => {
            let variant: Variant = word(key, words, value, errors)?;
            Some(Setting::Literal(Value::Variant(variant)))
        }
        Kind::Text => {
            if !is_constant(value) {
                text(key, value, "a string or a constant", errors)?;
            }
            Some(Setting::Literal(Value::Text(bare(value).clone())))
        }
        Kind::Pools => pools(value, errors),
        Kind::Own => None,
    }
}

/// Lowers a duration: milliseconds, a string such as `"60s"`, an expression, or `word` if the parameter
/// allows a word.
fn duration(key: Key, value: &Expr, word: Option<&str>, errors: &mut Errors) -> Option<Setting> {
    let name = key.name();
    if is_negative_literal(value) {
        let fix = match key {
            Key::Ttl => TTL_TOO_SHORT.to_owned(),
            _ => format!("`{name}` must not be negative; write `{}`", key.example()),
        };
        errors.under(value, fix);
        return None;
    }
    let parsed = match literal(value) {
        None => return Some(Setting::Expression(value.clone())),
        Some(Lit::Int(int)) => milliseconds(int),
        Some(Lit::Str(text)) => humantime::parse_duration(&text.value()).map_err(|error| {
            let or = word.map_or_else(String::new, |word| format!(", or `{name} = \"{word}\"`"));
            format!("is no duration ({error}); write `{name} = \"60s\"` or `{name} = 60_000`{or}")
        }),
        Some(_) => {
            let takes = "milliseconds, a string such as `\"60s\"`, or a `Duration`";
            refuse(key, value, takes, errors);
            return None;
        }
    };
    match parsed {
        Ok(duration) => Some(Setting::Literal(Value::Time(duration))),
        Err(why) => {
            errors.under(value, format!("the value of `{name}` {why}"));
            None
        }
    }
}

/// Reads an integer as milliseconds. It may have any integer suffix of Rust.
fn milliseconds(int: &LitInt) -> Result<Duration, String> {
    let digits = int.base10_digits();
    let suffix = int.suffix();
    if !matches!(
        suffix,
        "" | "u8"
            | "u16"
            | "u32"
            | "u64"
            | "u128"
            | "usize"
            | "i8"
            | "i16"
            | "i32"
            | "i64"
            | "i128"
            | "isize"
    ) {
        return Err(format!(
            "has the suffix `{suffix}`; write `\"{digits}{suffix}\"`"
        ));
    }
    int.base10_parse()
        .map(Duration::from_millis)
        .map_err(|_| "is too large; it is in milliseconds".to_owned())
}

/// Lowers a count, or an expression of that type.
fn count(key: Key, value: &Expr, errors: &mut Errors) -> Option<Setting> {
    if is_negative_literal(value) {
        refuse(key, value, "a count of 0 or more", errors);
        return None;
    }
    match literal(value) {
        None => Some(Setting::Expression(value.clone())),
        Some(Lit::Int(int)) => match int.base10_parse() {
            Ok(count) if matches!(int.suffix(), "" | "u32") => {
                Some(Setting::Literal(Value::Count(count)))
            }
            _ => {
                refuse(key, value, "a `u32`", errors);
                None
            }
        },
        Some(_) => {
            refuse(
                key,
                value,
                "an integer or an expression of type `u32`",
                errors,
            );
            None
        }
    }
}

/// Lowers a number of at least 0 and less than 1, or an expression of that type.
fn fraction(key: Key, value: &Expr, errors: &mut Errors) -> Option<Setting> {
    let digits = match literal(value) {
        None if is_negative_literal(value) => None,
        None => return Some(Setting::Expression(value.clone())),
        Some(Lit::Float(float)) if matches!(float.suffix(), "" | "f64") => {
            Some(float.base10_digits())
        }
        Some(Lit::Int(int)) if matches!(int.suffix(), "" | "f64") => Some(int.base10_digits()),
        Some(_) => None,
    };
    let number = digits.and_then(|digits| digits.parse::<f64>().ok());
    let number = number.filter(|number| (0.0..1.0).contains(number));
    if number.is_none() {
        refuse(key, value, "a number of at least 0 and less than 1", errors);
    }
    number.map(|number| Setting::Literal(Value::Fraction(number)))
}

/// Reads a string literal that is not empty.
fn text(key: Key, value: &Expr, takes: &str, errors: &mut Errors) -> Option<LitStr> {
    match literal(value) {
        Some(Lit::Str(text)) if text.value().is_empty() => {
            let (name, example) = (key.name(), key.example());
            errors.under(
                value,
                format!("`{name}` must not be empty; write `{example}`"),
            );
            None
        }
        Some(Lit::Str(text)) => Some(text.clone()),
        _ => {
            refuse(key, value, takes, errors);
            None
        }
    }
}

/// Reads a value that is one of two words.
pub(crate) fn word<T: Copy>(
    key: Key,
    words: [(&'static str, T); 2],
    value: &Expr,
    errors: &mut Errors,
) -> Option<T> {
    let [(one, _), (other, _)] = words;
    let takes = format!("`\"{one}\"` or `\"{other}\"`");
    let text = text(key, value, &takes, errors)?;
    let word = text.value();
    let found = words
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, meaning)| *meaning);
    if found.is_none() {
        let hint = nearest(&word, words.map(|(known, _)| known))
            .map_or_else(String::new, |near| format!("; did you mean `\"{near}\"`?"));
        errors.at(text.span(), format!("`{}` takes {takes}{hint}", key.name()));
    }
    found
}

fn flag(key: Key, value: &Expr, errors: &mut Errors) -> Option<Setting> {
    if let Some(Lit::Bool(flag)) = literal(value) {
        return Some(Setting::Literal(Value::Flag(flag.value)));
    }
    if literal(value).is_none() {
        return Some(Setting::Expression(value.clone()));
    }
    let takes = "`true`, `false` or an expression of type `bool`";
    refuse(key, value, takes, errors);
    None
}

#[cfg(test)]
mod tests {
    use super::{Setting, Value, lower};
    use crate::errors::Errors;
    use crate::parameters::Key;

    /// The literal's value, `expression`, or the error message.
    fn shown(written: &str, key: Key) -> String {
        let mut errors = Errors::default();
        let value = syn::parse_str(written).expect(written);
        match lower(key, &value, &mut errors) {
            Some(Setting::Literal(Value::Time(time))) => format!("{time:?}"),
            Some(Setting::Literal(Value::Count(count))) => format!("{count:?}"),
            Some(Setting::Literal(Value::Fraction(number))) => format!("{number:?}"),
            Some(Setting::Literal(_)) => panic!("{written} is of another kind"),
            Some(Setting::Expression(_)) => "expression".to_owned(),
            None => errors.messages().join(" / "),
        }
    }

    #[test]
    fn durations() {
        let table = [
            ("0", "0ns"),
            ("200", "200ms"),
            ("60_000", "60s"),
            ("60_000u64", "60s"),
            ("(5)", "5ms"),
            ("\"1m30s\"", "90s"),
            ("\"1500us\"", "1.5ms"),
            ("DELAY", "expression"),
            ("Duration::from_secs(60)", "expression"),
        ];
        for (written, expected) in table {
            assert_eq!(shown(written, Key::RetryDelay), expected, "{written}");
        }
    }

    #[test]
    fn counts() {
        let table = [
            ("0", "0"),
            ("3", "3"),
            ("3u32", "3"),
            ("N + 1", "expression"),
            (
                "-1",
                "`retry_count` takes a count of 0 or more; write `retry_count = 2`",
            ),
            (
                "3u8",
                "`retry_count` takes a `u32`; write `retry_count = 2`",
            ),
        ];
        for (written, expected) in table {
            assert_eq!(shown(written, Key::RetryCount), expected, "{written}");
        }
    }

    #[test]
    fn fractions() {
        let refused = "`clock_drift_factor` takes a number of at least 0 and less than 1; \
                       write `clock_drift_factor = 0.01`";
        let table = [
            ("0", "0.0"),
            ("0.01", "0.01"),
            ("0.5f64", "0.5"),
            ("1e-3", "0.001"),
            ("FACTOR", "expression"),
            ("1.0", refused),
            ("\"0.1\"", refused),
        ];
        for (written, expected) in table {
            assert_eq!(shown(written, Key::ClockDriftFactor), expected, "{written}");
        }
    }
}
