//! The names of pools.

use syn::{Expr, Lit, LitStr};

use super::{bare, literal};
use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Setting, Value};

/// An array of pool names without duplicates.
pub(super) fn pools(value: &Expr, errors: &mut Errors) -> Option<Setting> {
    let example = Key::Pools.example();
    let Expr::Array(array) = bare(value) else {
        errors.under(
            value,
            format!("`pools` takes an array of names; write `{example}`"),
        );
        return None;
    };
    if array.elems.is_empty() {
        errors.under(
            value,
            format!("`pools` must not be empty; write `{example}`, or leave it out for the default pools"),
        );
        return None;
    }
    let mut names: Vec<LitStr> = Vec::new();
    for element in &array.elems {
        let Some(Lit::Str(name)) = literal(element) else {
            errors.under(
                bare(element),
                format!("a pool's name is a string literal; write `{example}`"),
            );
            continue;
        };
        let text = name.value();
        if text.is_empty() {
            errors.at(
                name.span(),
                format!("a pool's name must not be empty; write `{example}`"),
            );
        } else if names.iter().any(|other| other.value() == text) {
            errors.at(
                name.span(),
                format!("duplicate pool `{text}`; one name is one node, which votes once"),
            );
        } else {
            names.push(name.clone());
        }
    }
    Some(Setting::Literal(Value::Names(names)))
}
