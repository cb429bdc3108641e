//! Phase two: checks every value, reports all errors, and lowers the rest.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Expr, Ident};

use crate::args::Args;
use crate::captured::captured;
use crate::errors::Errors;
use crate::function::Function;
use crate::parameters::Key;
use crate::plan::{IfLocked, Plan, Setting, Settings, Value};
use crate::resource;
use crate::times::check_times;
use crate::value::{bare, lower, word};

/// Turns the parsed attribute into a plan. `None` only if an error was reported.
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
        // Without a function its parameters are unknown, and the function's error was reported
        // already.
        function.and_then(|_| resource::check(value, &parameters, errors))
    });

    let settings = settings(args, errors);
    check_times(args, &settings, errors);
    if let Some(later) = args.later_of(Key::Wait, Key::RetryCount) {
        let message = "`wait` and `retry_count` both say when to give up; keep one";
        errors.at(later, message);
    }
    let if_locked = args
        .get(Key::IfLocked)
        .and_then(|v| word(Key::IfLocked, IF_LOCKED, v, errors));
    if if_locked == Some(IfLocked::Skip)
        && let Some(Setting::Literal(Value::Variant(_))) = settings.get(Key::Wait)
        && let Some(later) = args.later_of(Key::Wait, Key::IfLocked)
    {
        let message = "a call that waits forever is never skipped; \
                       keep one of `wait = \"forever\"` and `if_locked = \"skip\"`";
        errors.at(later, message);
    }
    let guard = args
        .get(Key::Guard)
        .and_then(|v| guard(v, &parameters, errors));
    let runtime = runtime(args.get(Key::Crate), errors);

    // Last, so that all other errors are reported too.
    Some(Plan {
        runtime,
        resource: resource?,
        settings,
        if_locked,
        guard,
        captured: function.map_or_else(Vec::new, |function| captured(function, args)),
    })
}

/// The values of all parameters for which the runtime has a setter.
fn settings(args: &Args, errors: &mut Errors) -> Settings {
    let mut settings = Vec::new();
    for key in Key::ALL.iter().copied() {
        let setting = args.get(key).and_then(|value| lower(key, value, errors));
        settings.extend(setting.map(|setting| (key, setting)));
    }
    Settings(settings)
}

/// The lease's name in the body and the runtime's path, even if other parameters are wrong.
pub(crate) fn of_a_refused(
    args: &Args,
    function: Option<&Function>,
) -> (Option<Ident>, TokenStream) {
    // The errors of these two parameters were reported already.
    let errors = &mut Errors::default();
    let parameters = function.map_or_else(Vec::new, Function::parameters);
    let guard = args
        .get(Key::Guard)
        .and_then(|v| guard(v, &parameters, errors));
    (guard, runtime(args.get(Key::Crate), errors))
}

const IF_LOCKED: [(&str, IfLocked); 2] = [("error", IfLocked::Error), ("skip", IfLocked::Skip)];

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

/// The path of the runtime's crate. An invalid path falls back to the default, as its error was
/// reported already.
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
