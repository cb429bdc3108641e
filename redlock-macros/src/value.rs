//! Lowers values as users write them to plain values.

use std::time::Duration;

use syn::{Expr, ExprLit, ExprPath, ExprUnary, Lit, LitInt, UnOp};

use crate::errors::{Errors, nearest};
use crate::parameters::{Key, ValueKind};
use crate::plan::PlainValue;

/// Strips parentheses and the invisible groups of `macro_rules!` fragments from a value.
pub(crate) fn bare(value: &Expr) -> &Expr {
    match value {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        other => other,
    }
}

/// Returns the value as a literal, if it is one.
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

/// Returns the error for a value of the wrong kind. The error shows the right spelling.
pub(crate) fn takes(key: Key, what: &str) -> String {
    let (name, example) = (key.name(), key.example());
    format!("`{name}` takes {what}; write `{example}`")
}

/// Lowers the value of a parameter that the table describes. Returns `None` after reporting an error.
pub(crate) fn lower(key: Key, value: &Expr, errors: &mut Errors) -> Option<PlainValue> {
    let lowered = match (key.kind(), literal(value)) {
        (ValueKind::Own, _) => return None,
        (ValueKind::Pools, _) => return pools(value, errors),
        (ValueKind::Text, _) if is_constant(value) => Ok(PlainValue::Constant(bare(value).clone())),
        (ValueKind::Text, literal) => text(key, literal, "a string or a constant")
            .map(|_| PlainValue::Constant(bare(value).clone())),
        (ValueKind::Word(words), literal) => word(key, words, literal).map(PlainValue::Variant),
        _ if is_negative_literal(value) => {
            let (name, example) = (key.name(), key.example());
            Err(format!("`{name}` must not be negative; write `{example}`"))
        }
        (_, None) => Ok(PlainValue::Expression(value.clone())),
        (ValueKind::TimeOr { word, variant }, Some(Lit::Str(text))) if text.value() == word => {
            Ok(PlainValue::Variant(variant))
        }
        // An integer is milliseconds; a number with a decimal point is a fraction.
        (ValueKind::TimeOrFraction(_), Some(literal @ Lit::Float(_)))
        | (ValueKind::Fraction, Some(literal)) => fraction(key, literal),
        (
            ValueKind::Time | ValueKind::TimeOr { .. } | ValueKind::TimeOrFraction(_),
            Some(literal),
        ) => duration(key, literal),
        (ValueKind::Count, Some(literal)) => count(key, literal),
        (ValueKind::Flag, Some(Lit::Bool(flag))) => Ok(PlainValue::Flag(flag.value)),
        (ValueKind::Flag, _) => Err(takes(
            key,
            "`true`, `false` or an expression of type `bool`",
        )),
    };
    lowered.map_err(|message| errors.under(value, message)).ok()
}

/// Reads milliseconds, or a string such as `"60s"`.
fn duration(key: Key, literal: &Lit) -> Result<PlainValue, String> {
    let name = key.name();
    let parsed = match literal {
        Lit::Int(int) => milliseconds(int),
        Lit::Str(text) => humantime::parse_duration(&text.value()).map_err(|error| {
            let or = match key.kind() {
                ValueKind::TimeOr { word, .. } => format!(", or `{name} = \"{word}\"`"),
                _ => String::new(),
            };
            format!(
                "is not a duration ({error}); write `{name} = \"60s\"` or `{name} = 60_000`{or}"
            )
        }),
        _ => {
            let what = "milliseconds, a string such as `\"60s\"`, or a `Duration`";
            return Err(takes(key, what));
        }
    };
    parsed
        .map(PlainValue::Time)
        .map_err(|why| format!("the value of `{name}` {why}"))
}

/// Reads an integer as milliseconds. The integer may have a suffix of Rust, such as `u64`.
fn milliseconds(int: &LitInt) -> Result<Duration, String> {
    let (digits, suffix) = (int.base10_digits(), int.suffix());
    if !suffix.is_empty() && !suffix.ends_with(|last: char| last.is_ascii_digit()) {
        return Err(format!(
            "has the suffix `{suffix}`; write `\"{digits}{suffix}\"`"
        ));
    }
    int.base10_parse()
        .map(Duration::from_millis)
        .map_err(|_| "is too large; it is in milliseconds".to_owned())
}

fn count(key: Key, literal: &Lit) -> Result<PlainValue, String> {
    let Lit::Int(int) = literal else {
        return Err(takes(key, "an integer or an expression of type `u32`"));
    };
    match int.base10_parse() {
        Ok(count) if matches!(int.suffix(), "" | "u32") => Ok(PlainValue::Count(count)),
        _ => Err(takes(key, "a `u32`")),
    }
}

/// Reads a number of at least 0 and less than 1.
fn fraction(key: Key, literal: &Lit) -> Result<PlainValue, String> {
    let digits = match literal {
        Lit::Float(float) if matches!(float.suffix(), "" | "f64") => float.base10_digits(),
        Lit::Int(int) if matches!(int.suffix(), "" | "f64") => int.base10_digits(),
        _ => "",
    };
    match digits.parse::<f64>() {
        Ok(number) if (0.0..1.0).contains(&number) => Ok(PlainValue::Fraction(number)),
        _ => Err(takes(key, "a number of at least 0 and less than 1")),
    }
}

/// Reads a string, and refuses an empty one and a template.
fn text(key: Key, literal: Option<&Lit>, what: &str) -> Result<String, String> {
    match literal {
        Some(Lit::Str(text)) if text.value().is_empty() => Err(empty(key)),
        Some(Lit::Str(text)) if text.value().contains('{') => {
            let (name, note) = (key.name(), "say what differs in `note = \"…\"`");
            Err(format!(
                "`{name}` is the same for each call, so it takes no placeholders; {note}"
            ))
        }
        Some(Lit::Str(text)) => Ok(text.value()),
        _ => Err(takes(key, what)),
    }
}

/// Returns the error for an empty value.
pub(crate) fn empty(key: Key) -> String {
    let (name, example) = (key.name(), key.example());
    format!("`{name}` must not be empty; write `{example}`")
}

/// Reads one of two words.
pub(crate) fn word<T>(
    key: Key,
    words: [(&'static str, T); 2],
    literal: Option<&Lit>,
) -> Result<T, String> {
    let names = words.each_ref().map(|(name, _)| *name);
    let what = format!("`\"{}\"` or `\"{}\"`", names[0], names[1]);
    let word = text(key, literal, &what)?;
    let found = words.into_iter().find(|(known, _)| *known == word);
    found.map(|(_, meaning)| meaning).ok_or_else(|| {
        let hint = nearest(&word, names)
            .map_or_else(String::new, |near| format!("; did you mean `\"{near}\"`?"));
        format!("`{}` takes {what}{hint}", key.name())
    })
}

/// True if the value may be a constant, which rustc evaluates. Constants have names in capitals, so a bare `charge`
/// is a string that lacks its quotes. An expression that allocates is refused too.
fn is_constant(value: &Expr) -> bool {
    match bare(value) {
        Expr::Path(ExprPath { path, .. }) => path.get_ident().is_none_or(|name| {
            let name = name.to_string();
            name.starts_with(|first: char| !first.is_lowercase())
        }),
        Expr::Macro(call) => !["vec", "format"]
            .iter()
            .any(|it| call.mac.path.is_ident(it)),
        Expr::Reference(reference) => is_constant(&reference.expr),
        Expr::Field(_)
        | Expr::Index(_)
        | Expr::Call(_)
        | Expr::MethodCall(_)
        | Expr::Const(_)
        | Expr::Block(_) => true,
        _ => false,
    }
}

/// Lowers an array of distinct pool names, or a constant of that type.
/// `init` checks the names in a constant, as the macro checks those in strings.
fn pools(value: &Expr, errors: &mut Errors) -> Option<PlainValue> {
    let example = Key::Pools.example();
    let array = match bare(value) {
        Expr::Array(array) => array,
        // Strip the `&`, because the expansion adds one.
        Expr::Reference(reference) => return pools(&reference.expr, errors),
        other if is_constant(other) => return Some(PlainValue::Constant(other.clone())),
        _ => {
            errors.under(value, takes(Key::Pools, "an array of names, or a constant"));
            return None;
        }
    };
    if array.elems.is_empty() {
        let empty = empty(Key::Pools);
        let message = format!("{empty}, or leave it out for the default pools");
        errors.under(value, message);
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for element in &array.elems {
        let name = match literal(element) {
            Some(Lit::Str(name)) => name.value(),
            _ if is_constant(element) => continue,
            _ => {
                let message = format!("a pool's name is a string or a constant; write `{example}`");
                errors.under(element, message);
                continue;
            }
        };
        if name.is_empty() {
            let message = format!("a pool's name must not be empty; write `{example}`");
            errors.under(element, message);
        } else if names.contains(&name) {
            let message =
                format!("duplicate pool `{name}`; one name is one node, which votes once");
            errors.under(element, message);
        }
        names.push(name);
    }
    Some(PlainValue::Constant(Expr::Array(array.clone())))
}

#[cfg(test)]
mod tests {
    use super::{PlainValue, lower};
    use crate::errors::Errors;
    use crate::parameters::Key;

    /// Shows the literal's value, `expression`, or the error message.
    fn shown(written: &str, key: Key) -> String {
        let mut errors = Errors::default();
        let value = syn::parse_str(written).expect(written);
        match lower(key, &value, &mut errors) {
            Some(PlainValue::Time(time)) => format!("{time:?}"),
            Some(PlainValue::Count(count)) => format!("{count:?}"),
            Some(PlainValue::Fraction(number)) => format!("{number:?}"),
            Some(PlainValue::Expression(_)) => "expression".to_owned(),
            Some(_) => panic!("{written} is of another kind"),
            None => errors.messages().join(" / "),
        }
    }

    #[test]
    fn a_literal_is_read_or_refused_and_an_expression_passed_on() {
        use Key::{ClockDriftFactor, RetryCount, RetryDelay};
        let negative = "`retry_count` must not be negative; write `retry_count = 2`";
        let no_u32 = "`retry_count` takes a `u32`; write `retry_count = 2`";
        let no_factor = "`clock_drift_factor` takes a number of at least 0 and less than 1; \
                         write `clock_drift_factor = 0.01`";
        for (key, written, expected) in [
            (RetryDelay, "0", "0ns"),
            (RetryDelay, "60_000", "60s"),
            (RetryDelay, "60_000u64", "60s"),
            (RetryDelay, "(5)", "5ms"),
            (RetryDelay, "\"1m30s\"", "90s"),
            (RetryDelay, "\"1500us\"", "1.5ms"),
            (RetryDelay, "Duration::from_secs(60)", "expression"),
            (RetryCount, "0", "0"),
            (RetryCount, "3u32", "3"),
            (RetryCount, "N + 1", "expression"),
            (RetryCount, "-1", negative),
            (RetryCount, "3u8", no_u32),
            (ClockDriftFactor, "0", "0.0"),
            (ClockDriftFactor, "0.01", "0.01"),
            (ClockDriftFactor, "0.5f64", "0.5"),
            (ClockDriftFactor, "1e-3", "0.001"),
            (ClockDriftFactor, "FACTOR", "expression"),
            (ClockDriftFactor, "\"0.1\"", no_factor),
        ] {
            assert_eq!(shown(written, key), expected, "{written}");
        }
    }
}
