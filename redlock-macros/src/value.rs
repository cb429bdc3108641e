//! Values as users write them, lowered to what they mean.

use std::fmt::Display;
use std::time::Duration;

use syn::{Expr, ExprLit, ExprUnary, Lit, LitInt, LitStr, UnOp};

use crate::args::Key;
use crate::errors::Errors;
use crate::plan::Setting;

/// What is said of a ttl below 10 ms, zero and negative ones included.
pub(crate) const TTL_TOO_SHORT: &str =
    "`ttl` must be at least 10 ms; write `ttl = 60_000` or `ttl = \"60s\"`";

/// The value without what surrounds it: the invisible group that a `macro_rules!` fragment comes
/// in, and parentheses.
pub(crate) fn bare(value: &Expr) -> &Expr {
    match value {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        other => other,
    }
}

/// The literal that a value is, if it is one.
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

/// Complains about a value of the wrong kind, showing the right spelling.
fn refuse(key: Key, value: &Expr, takes: impl Display, errors: &mut Errors) {
    let (name, example) = (key.name(), key.example());
    errors.under(value, format!("`{name}` takes {takes}; write `{example}`"));
}

/// Milliseconds, a string such as `"60s"`, or an expression.
pub(crate) fn duration(key: Key, value: &Expr, errors: &mut Errors) -> Option<Setting<Duration>> {
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
            let or = key
                .word()
                .map_or_else(String::new, |word| format!(", or `{name} = \"{word}\"`"));
            format!("is no duration ({error}); write `{name} = \"60s\"` or `{name} = 60_000`{or}")
        }),
        Some(_) => {
            let takes = "milliseconds, a string such as `\"60s\"`, or a `Duration`";
            refuse(key, value, takes, errors);
            return None;
        }
    };
    match parsed {
        Ok(duration) => Some(Setting::Literal(duration)),
        Err(why) => {
            errors.under(value, format!("the value of `{name}` {why}"));
            None
        }
    }
}

/// An integer is milliseconds, whichever of Rust's integer suffixes it has.
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

/// A count, or an expression that yields one.
pub(crate) fn count(key: Key, value: &Expr, errors: &mut Errors) -> Option<Setting<u32>> {
    if is_negative_literal(value) {
        refuse(key, value, "a count of 0 or more", errors);
        return None;
    }
    match literal(value) {
        None => Some(Setting::Expression(value.clone())),
        Some(Lit::Int(int)) => match int.base10_parse() {
            Ok(count) if matches!(int.suffix(), "" | "u32") => Some(Setting::Literal(count)),
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

/// A number of at least 0 and less than 1, or an expression that yields one.
pub(crate) fn fraction(key: Key, value: &Expr, errors: &mut Errors) -> Option<Setting<f64>> {
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
    number.map(Setting::Literal)
}

/// A string that is written out and not empty.
pub(crate) fn text(key: Key, value: &Expr, takes: &str, errors: &mut Errors) -> Option<LitStr> {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Setting, count, duration, fraction};
    use crate::args::Key;
    use crate::errors::Errors;

    /// The literal's value, `expression`, or the complaint.
    fn shown<T: std::fmt::Debug>(
        written: &str,
        lower: impl Fn(&syn::Expr, &mut Errors) -> Option<Setting<T>>,
    ) -> String {
        let mut errors = Errors::default();
        let value = syn::parse_str(written).expect(written);
        match lower(&value, &mut errors) {
            Some(Setting::Literal(value)) => format!("{value:?}"),
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
            (
                "-1",
                "`retry_delay` must not be negative; write `retry_delay = 200`",
            ),
            (
                "60s",
                "the value of `retry_delay` has the suffix `s`; write `\"60s\"`",
            ),
            (
                "99999999999999999999",
                "the value of `retry_delay` is too large; it is in milliseconds",
            ),
            (
                "1.5",
                "`retry_delay` takes milliseconds, a string such as `\"60s\"`, or a `Duration`; \
                 write `retry_delay = 200`",
            ),
        ];
        for (written, expected) in table {
            let lower = |value: &syn::Expr, errors: &mut Errors| {
                duration(Key::RetryDelay, value, errors) as Option<Setting<Duration>>
            };
            assert_eq!(shown(written, lower), expected, "{written}");
        }
        let unreadable = shown("\"soon\"", |v, e| duration(Key::Ttl, v, e));
        assert!(
            unreadable.starts_with("the value of `ttl` is no duration ("),
            "{unreadable}"
        );
        assert!(
            unreadable.ends_with("write `ttl = \"60s\"` or `ttl = 60_000`"),
            "{unreadable}"
        );
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
                "4294967296",
                "`retry_count` takes a `u32`; write `retry_count = 2`",
            ),
            (
                "3u8",
                "`retry_count` takes a `u32`; write `retry_count = 2`",
            ),
            (
                "\"3\"",
                "`retry_count` takes an integer or an expression of type `u32`; write `retry_count = 2`",
            ),
        ];
        for (written, expected) in table {
            assert_eq!(
                shown(written, |v, e| count(Key::RetryCount, v, e)),
                expected,
                "{written}"
            );
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
            ("1", refused),
            ("1.0", refused),
            ("-0.1", refused),
            ("1e999", refused),
            ("\"0.1\"", refused),
        ];
        for (written, expected) in table {
            let lower = |v: &syn::Expr, e: &mut Errors| fraction(Key::ClockDriftFactor, v, e);
            assert_eq!(shown(written, lower), expected, "{written}");
        }
    }
}
