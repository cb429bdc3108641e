//! The names of pools.

use syn::{Expr, ExprArray, Lit, LitStr};

use super::constant::is_constant;
use super::{bare, literal};
use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Setting, Value};

/// Lowers an array of pool names without duplicates, or a constant of that type. `init` checks a constant
/// as the macro checks a string.
pub(super) fn pools(value: &Expr, errors: &mut Errors) -> Option<Setting> {
    let example = Key::Pools.example();
    let array = match bare(value) {
        Expr::Array(array) => array,
        // The expansion takes a reference itself.
        Expr::Reference(reference) => return pools(&reference.expr, errors),
        other if is_constant(other) => {
            return Some(Setting::Literal(Value::Names(other.clone())));
        }
        _ => {
            let message =
                format!("`pools` takes an array of names, or a constant; write `{example}`");
            errors.under(value, message);
            return None;
        }
    };
    if array.elems.is_empty() {
        errors.under(
            value,
            format!("`pools` must not be empty; write `{example}`, or leave it out for the default pools"),
        );
        return None;
    }
    check_names(array, errors);
    Some(Setting::Literal(Value::Names(Expr::Array(array.clone()))))
}

fn check_names(array: &ExprArray, errors: &mut Errors) {
    let example = Key::Pools.example();
    let mut names: Vec<&LitStr> = Vec::new();
    for element in &array.elems {
        let Some(Lit::Str(name)) = literal(element) else {
            if !is_constant(element) {
                errors.under(
                    bare(element),
                    format!("a pool's name is a string or a constant; write `{example}`"),
                );
            }
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
            names.push(name);
        }
    }
}
