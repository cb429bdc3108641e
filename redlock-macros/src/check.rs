//! Phase two: checks every value, reports all errors, and lowers the rest.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Attribute, Expr, Ident, Type};

use crate::argument_capture::captured;
use crate::async_kind::AsyncKind;
use crate::duration_rules::check_times;
use crate::errors::Errors;
use crate::function::Function;
use crate::item_check::mentions;
use crate::parameters::Key;
use crate::parse::Args;
use crate::placeholder_names::Names;
use crate::plan::{LockPlan, PlainValue, PlainValues, ResourcePlan};
use crate::resource::{resource, text};
use crate::return_type::response;
use crate::value::{bare, literal, lower, takes, word};

/// A copy of the limit in `redlock-core`, because this crate does not depend on that one.
const MAX_PERMITS: u32 = 256;

/// Turns the parsed attribute into a plan. Returns `None` only after reporting an error.
pub(crate) fn check(
    args: &Args,
    function: Option<&Function>,
    errors: &mut Errors,
) -> Option<LockPlan> {
    if !args.attempted(Key::Resource) {
        let example = Key::Resource.example();
        let message = format!("missing `resource`; write `#[redlock({example})]`");
        errors.at(Span::call_site(), message);
    }
    let parameters = function.map_or_else(Vec::new, Function::parameters);
    let values = Key::EACH.iter().filter_map(|key| {
        let value = lower(*key, args.get(*key)?, errors)?;
        if let PlainValue::Constant(value) = &value {
            check_constant(*key, value, &parameters, errors);
        }
        Some((*key, value))
    });
    let values = PlainValues(values.collect());
    let skips = args.get(Key::IfLocked).and_then(|value| {
        let skips = word(
            Key::IfLocked,
            [("error", false), ("skip", true)],
            literal(value),
        );
        skips.map_err(|message| errors.under(value, message)).ok()
    });
    let skips = skips == Some(true);

    check_times(args, &values, errors);
    check_pairs(args, &values, skips, errors);
    let output = function.and_then(|function| function.output.as_ref());
    if let Some(value) = args.get(Key::OncePer)
        && output.and_then(response).is_some()
    {
        let message = "a response does not say whether the job succeeded; return a `Result`";
        errors.under(value, message);
    }
    if let Some(Type::Never(never)) = output {
        let message = "a function that never returns has no value for a lock error; \
                       write `Result<std::convert::Infallible, redlock_runtime::LockError>`";
        errors.under(never, message);
    }
    let (guard, runtime) = names_of_the_expansion(args, function, errors);

    // A missing function has been reported already, and its parameters are unknown.
    let names = function.map(|function| Names {
        parameters: function.parameters(),
        has_errors: errors.has_any(),
        statements: match &function.kind {
            AsyncKind::AsyncFn => TokenStream::new(),
            AsyncKind::ReturnsFuture(tail) => tail.statements.clone(),
        },
    });
    let templates = |key| args.get(key).zip(names.as_ref());
    let resource = templates(Key::Resource).and_then(|(it, names)| resource(it, names, errors));
    let note = templates(Key::Note).and_then(|(it, names)| text(Key::Note, it, names, errors));
    let has_several_names = resource
        .as_ref()
        .is_some_and(ResourcePlan::has_several_names);
    check_kinds(args, &values, has_several_names, errors);

    // Check for the resource last, so that all other errors are reported too.
    Some(LockPlan {
        runtime,
        resource: resource?,
        note,
        values,
        skips,
        guard,
        captured: function.map_or_else(Vec::new, captured),
    })
}

/// Reports a constant value that mentions a parameter of the function.
/// The value goes into a `static`, which cannot see the function's parameters.
fn check_constant(key: Key, value: &Expr, parameters: &[Ident], errors: &mut Errors) {
    let is_named = |name: &&Ident| mentions(value.to_token_stream(), &name.to_string());
    if let Some(name) = parameters.iter().find(is_named) {
        let key = key.name();
        errors.under(
            value,
            format!("`{key}` is fixed when the program starts, but `{name}` is known only in a call; write a constant"),
        );
    }
}

/// Reports parameters that exclude each other, at the later parameter of each pair.
fn check_pairs(args: &Args, values: &PlainValues, skips: bool, errors: &mut Errors) {
    let shares = args.get(Key::Permits).is_some()
        && !matches!(values.get(Key::Permits), Some(PlainValue::Count(1)));
    let waits_forever = matches!(values.get(Key::Wait), Some(PlainValue::Variant(_)));
    let pairs = [
        (
            (Key::Permits, Key::Kind),
            true,
            "`permits` and `kind` ask for two kinds of lock; keep one",
        ),
        (
            (Key::Wait, Key::RetryCount),
            true,
            "`wait` and `retry_count` both say when to give up; keep one",
        ),
        (
            (Key::Permits, Key::Fencing),
            shares && values.is_fenced(),
            "a store that compares tokens needs one holder at a time; keep one of `permits` and \
             `fencing`, or lock one resource for each slot",
        ),
        (
            (Key::Permits, Key::OncePer),
            shares,
            "several holders at a time would each run the job; keep one of `permits` and `once_per`",
        ),
        (
            (Key::Wait, Key::IfLocked),
            skips && waits_forever,
            "a call that waits forever is never skipped; \
             keep one of `wait = \"forever\"` and `if_locked = \"skip\"`",
        ),
    ];
    for ((one, other), excludes, message) in pairs {
        if let Some(later) = args.later_of(one, other)
            && excludes
        {
            errors.at(later, message);
        }
    }
    if let Some(value) = args.get(Key::Remember)
        && !args.attempted(Key::OncePer)
    {
        let message = "`remember` says which runs count for `once_per`; write `once_per = …` too";
        errors.under(value, message);
    }
}

/// Reports parameters that `permits` and `kind` exclude.
fn check_kinds(args: &Args, values: &PlainValues, has_several_names: bool, errors: &mut Errors) {
    if let Some(permits) = args.get(Key::Permits) {
        let count = match values.get(Key::Permits) {
            Some(PlainValue::Count(count)) => Some(*count),
            _ => None,
        };
        if count.is_some_and(|count| !(1..=MAX_PERMITS).contains(&count)) {
            let message = format!(
                "`permits` is a number from 1 to {MAX_PERMITS}; a server looks at all permits at once, so \
                 spread more holders over several resources"
            );
            errors.under(permits, message);
        }
        // A lock with one permit is a plain lock.
        if has_several_names && count != Some(1) {
            errors.under(
                permits,
                "`permits` cannot lock several resources all or none; lock one resource, or leave \
                 `permits` out",
            );
        }
    }
    if let Some(kind) = args.get(Key::Kind) {
        if has_several_names {
            errors.under(
                kind,
                "`kind` takes a single resource; leave `kind` out, or lock one resource that all of these belong to",
            );
        }
        if let Some(PlainValue::Variant(["Kind", "Read"])) = values.get(Key::Kind)
            && let Some(value) = args.get(Key::OncePer)
        {
            errors.under(
                value,
                "`once_per` is for a job, but readers run side by side; leave it out, or write `kind = \"write\"`",
            );
        }
    }
}

/// Returns the name of the guard in the body, and the runtime's path.
pub(crate) fn names_of_the_expansion(
    args: &Args,
    function: Option<&Function>,
    errors: &mut Errors,
) -> (Option<Ident>, TokenStream) {
    let parameters = function.map_or_else(Vec::new, Function::parameters);
    let guard = args.get(Key::Guard);
    let guard = guard.and_then(|value| guard_name(value, &parameters, errors));
    let below = function.map_or(&[][..], |it| &it.attributes);
    let hides = |guard: &&Ident| {
        let words = ["redlock", "guard", &guard.to_string()];
        let has = |it: &Attribute, word| mentions(it.to_token_stream(), word);
        below
            .iter()
            .any(|it| words.iter().all(|word| has(it, word)))
    };
    if let Some(guard) = guard.as_ref().filter(hides) {
        let message = "the `#[redlock]` below has a guard of this name, which would hide this one; \
                       choose another name";
        errors.at(guard.span(), message);
    }
    (guard, runtime(args.get(Key::Crate), errors))
}

fn guard_name(value: &Expr, parameters: &[Ident], errors: &mut Errors) -> Option<Ident> {
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

/// Returns the other name that the user's manifest gives the runtime, on the line of the dependency.
fn name_in_the_manifest() -> Option<String> {
    let folder = std::env::var("CARGO_MANIFEST_DIR").ok()?;
    let manifest = std::fs::read_to_string(folder + "/Cargo.toml").ok()?;
    let is_it = |it: &&str| {
        it.replace(' ', "")
            .contains("={package=\"redlock-runtime\"")
    };
    // If the manifest has both names, the program uses two versions, and the default name is right.
    let is_only = |_: &&str| !manifest.contains("\nredlock-runtime");
    let line = manifest.lines().find(is_it).filter(is_only)?;
    Some(line.split('=').next()?.trim().replace('-', "_"))
}

/// Returns the path of the runtime's crate. Reports an invalid path, and returns the default instead.
fn runtime(value: Option<&Expr>, errors: &mut Errors) -> TokenStream {
    let Some(value) = value else {
        if let Some(name) = name_in_the_manifest() {
            let message =
                format!("Cargo.toml calls the runtime `{name}`; write `crate = ::{name}`");
            errors.at(Span::call_site(), message);
        }
        return quote!(::redlock_runtime);
    };
    if let Expr::Path(path) = bare(value)
        && let (None, path) = (&path.qself, &path.path)
        && let Some(first) = path.segments.first()
        && (path.leading_colon.is_some() || first.ident == "crate" || first.ident == "$crate")
        && path.segments.iter().all(|it| it.arguments.is_none())
    {
        return path.to_token_stream();
    }
    errors.under(value, takes(Key::Crate, "an absolute path"));
    quote!(::redlock_runtime)
}
