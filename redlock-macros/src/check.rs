//! Phase two: checks every value, complains about all that is wrong, and lowers the rest.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Expr, Ident, Lit, LitStr};

use crate::args::{Args, Key};
use crate::captured::captured;
use crate::errors::Errors;
use crate::function::Function;
use crate::plan::{IfLocked, OnCancel, OnLost, Plan, Setting, Wait};
use crate::resource;
use crate::suggest::nearest;
use crate::times::{check_ttl, max_hold, min_hold, min_validity, wait};
use crate::value::{bare, count, duration, fraction, literal, text};

/// Turns what was written into what is meant. `None` only where a complaint was made.
pub(crate) fn check(args: &Args, function: Option<&Function>, errors: &mut Errors) -> Option<Plan> {
    let parameters = function.map_or_else(Vec::new, Function::parameters);
    if !args.attempted(Key::Resource) {
        let example = Key::Resource.example();
        errors.at(
            Span::call_site(),
            format!("missing `resource`; write `#[redlock({example})]`"),
        );
    }
    let resource = args.get(Key::Resource).and_then(|value| {
        // Without a function its parameters are unknown, and it is complained about already.
        function.and_then(|_| resource::check(value, &parameters, errors))
    });

    let drift = args.get(Key::ClockDriftFactor);
    let clock_drift_factor = drift.and_then(|v| fraction(Key::ClockDriftFactor, v, errors));
    let ttl = args.get(Key::Ttl).and_then(|value| {
        let ttl = duration(Key::Ttl, value, errors)?;
        check_ttl(value, &ttl, clock_drift_factor.as_ref(), errors);
        Some(ttl)
    });
    let pools = args.get(Key::Pools).and_then(|v| pools(v, errors));
    let retry_count = args
        .get(Key::RetryCount)
        .and_then(|v| count(Key::RetryCount, v, errors));
    let wait = args.get(Key::Wait).and_then(|v| wait(v, errors));
    if let Some(later) = args.later_of(Key::Wait, Key::RetryCount) {
        let message = "`wait` and `retry_count` both say when to give up; keep one";
        errors.at(later, message);
    }
    let retry_delay = args
        .get(Key::RetryDelay)
        .and_then(|v| duration(Key::RetryDelay, v, errors));
    let min_validity = args
        .get(Key::MinValidity)
        .and_then(|v| min_validity(v, ttl.as_ref(), errors));
    let max_hold = args
        .get(Key::MaxHold)
        .and_then(|v| max_hold(v, ttl.as_ref(), errors));
    let min_hold = args
        .get(Key::MinHold)
        .and_then(|v| min_hold(v, ttl.as_ref(), errors));
    let fencing = args.get(Key::Fencing).and_then(|v| fencing(v, errors));
    let on_lost = args
        .get(Key::OnLost)
        .and_then(|v| word(Key::OnLost, ON_LOST, v, errors));
    let on_cancel = args
        .get(Key::OnCancel)
        .and_then(|v| word(Key::OnCancel, ON_CANCEL, v, errors));
    let if_locked = args
        .get(Key::IfLocked)
        .and_then(|v| word(Key::IfLocked, IF_LOCKED, v, errors));
    if if_locked == Some(IfLocked::Skip)
        && matches!(wait, Some(Setting::Literal(Wait::Forever)))
        && let Some(later) = args.later_of(Key::Wait, Key::IfLocked)
    {
        let message = "a call that waits forever is never skipped; \
                       keep one of `wait = \"forever\"` and `if_locked = \"skip\"`";
        errors.at(later, message);
    }
    let guard = args
        .get(Key::Guard)
        .and_then(|v| guard(v, &parameters, errors));
    let name = args
        .get(Key::Name)
        .and_then(|v| text(Key::Name, v, "a string", errors));
    let runtime = runtime(args.get(Key::Crate), errors);

    // Only now, when all else has been looked at.
    Some(Plan {
        runtime,
        resource: resource?,
        ttl,
        pools,
        retry_count,
        wait,
        retry_delay,
        clock_drift_factor,
        min_validity,
        max_hold,
        min_hold,
        fencing,
        on_lost,
        on_cancel,
        if_locked,
        guard,
        name,
        captured: function.map_or_else(Vec::new, |function| captured(function, args)),
    })
}

/// What the body calls the lease and where the runtime is, whatever else is wrong.
pub(crate) fn of_a_refused(
    args: &Args,
    function: Option<&Function>,
) -> (Option<Ident>, TokenStream) {
    // What is wrong with these two is complained about already.
    let errors = &mut Errors::default();
    let parameters = function.map_or_else(Vec::new, Function::parameters);
    let guard = args
        .get(Key::Guard)
        .and_then(|v| guard(v, &parameters, errors));
    (guard, runtime(args.get(Key::Crate), errors))
}

fn pools(value: &Expr, errors: &mut Errors) -> Option<Vec<LitStr>> {
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
    Some(names)
}

const ON_LOST: [(&str, OnLost); 2] = [("cancel", OnLost::Cancel), ("continue", OnLost::Continue)];
const ON_CANCEL: [(&str, OnCancel); 2] =
    [("release", OnCancel::Release), ("expire", OnCancel::Expire)];
const IF_LOCKED: [(&str, IfLocked); 2] = [("error", IfLocked::Error), ("skip", IfLocked::Skip)];

/// A value that is one of two words.
fn word<T: Copy>(
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

fn fencing(value: &Expr, errors: &mut Errors) -> Option<bool> {
    if let Some(Lit::Bool(fencing)) = literal(value) {
        return Some(fencing.value);
    }
    let example = Key::Fencing.example();
    let message = format!("`fencing` takes `true` or `false`; write `{example}`");
    errors.under(value, message);
    None
}

fn guard(value: &Expr, parameters: &[Ident], errors: &mut Errors) -> Option<Ident> {
    let ident = match bare(value) {
        Expr::Path(path) if path.qself.is_none() && path.attrs.is_empty() => path.path.get_ident(),
        _ => None,
    };
    let Some(ident) = ident.filter(|ident| !is_path_keyword(ident)) else {
        errors.under(value, "`guard` takes an identifier; write `guard = lease`");
        return None;
    };
    if parameters.contains(ident) {
        let message =
            format!("`guard = {ident}` would hide the parameter `{ident}`; choose another name");
        errors.at(ident.span(), message);
        return None;
    }
    Some(ident.clone())
}

fn is_path_keyword(ident: &Ident) -> bool {
    ["self", "Self", "super", "crate"]
        .iter()
        .any(|keyword| ident == keyword)
}

/// The path of the runtime's crate. A wrong one falls back to the usual, as it is complained about.
fn runtime(value: Option<&Expr>, errors: &mut Errors) -> TokenStream {
    let usual = quote!(::redlock_runtime);
    let Some(value) = value else { return usual };
    let absolute = |path: &syn::Path| {
        let first = path
            .segments
            .first()
            .map(|segment| segment.ident.to_string());
        let rooted =
            path.leading_colon.is_some() || matches!(first.as_deref(), Some("crate" | "$crate"));
        rooted
            && path
                .segments
                .iter()
                .all(|segment| segment.arguments.is_none())
    };
    match bare(value) {
        Expr::Path(path) if path.qself.is_none() && absolute(&path.path) => {
            path.path.to_token_stream()
        }
        _ => {
            let example = Key::Crate.example();
            errors.under(
                value,
                format!("`crate` takes an absolute path; write `{example}`"),
            );
            usual
        }
    }
}
