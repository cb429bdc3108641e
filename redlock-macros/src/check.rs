//! Phase two: checks every value, reports all errors, and lowers the rest.

use std::sync::OnceLock;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{Expr, Ident, Type};

use crate::args::Args;
use crate::captured::captured;
use crate::errors::Errors;
use crate::function::Function;
use crate::mode::check_mode;
use crate::names::Names;
use crate::note;
use crate::output::response;
use crate::parameters::Key;
use crate::permits::check_permits;
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
    // Without a function its parameters are unknown, and the function's error was reported already.
    let names = function.map(|function| Names {
        parameters: parameters.clone(),
        locals: function.shape.locals(),
    });
    let resource = args.get(Key::Resource).zip(names.as_ref());
    let resource = resource.and_then(|(value, names)| resource::check(value, names, errors));
    let note = args.get(Key::Note).zip(names.as_ref());
    let note = note.and_then(|(value, names)| note::check(value, names, errors));

    let settings = settings(args, &parameters, errors);
    check_times(args, &settings, errors);
    check_permits(args, &settings, resource.as_ref(), errors);
    check_mode(args, &settings, resource.as_ref(), errors);
    for (index, one) in Key::KINDS.iter().enumerate() {
        for other in &Key::KINDS[index + 1..] {
            if let Some(later) = args.later_of(*one, *other) {
                let (one, other) = (one.name(), other.name());
                let message = format!("`{one}` and `{other}` ask for two kinds of lock; keep one");
                errors.at(later, message);
            }
        }
    }
    if let Some(later) = args.later_of(Key::Wait, Key::RetryCount) {
        let message = "`wait` and `retry_count` both say when to give up; keep one";
        errors.at(later, message);
    }
    if let Some(value) = args.get(Key::Counts)
        && !args.attempted(Key::OncePer)
    {
        let message = "`counts` says which runs count for `once_per`; write `once_per = …` too";
        errors.under(value, message);
    }
    if let Some(value) = args.get(Key::OncePer)
        && function
            .and_then(|it| it.output.as_ref())
            .and_then(response)
            .is_some()
    {
        let message = "a response does not say whether the job did its work; return a `Result`";
        errors.under(value, message);
    }
    let if_locked = args
        .get(Key::IfLocked)
        .and_then(|v| word(Key::IfLocked, IF_LOCKED, v, errors));
    if if_locked == Some(IfLocked::Skip)
        && let Some(Setting::Literal(Value::Variant(_) | Value::Path(_))) = settings.get(Key::Wait)
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
    if let Some(Type::Never(never)) = function.and_then(|function| function.output.as_ref()) {
        let message = "a function that never returns has no value for a lock error; \
                       write `Result<std::convert::Infallible, redlock_runtime::LockError>`";
        errors.under(never, message);
    }

    // Last, so that all other errors are reported too.
    Some(Plan {
        runtime,
        resource: resource?,
        note,
        settings,
        if_locked,
        guard,
        captured: function.map_or_else(Vec::new, |function| captured(function, args)),
    })
}

/// The values of all parameters for which the runtime has a setter.
fn settings(args: &Args, parameters: &[Ident], errors: &mut Errors) -> Settings {
    let mut settings = Vec::new();
    for key in Key::ALL.iter().copied() {
        let setting = args.get(key).and_then(|value| lower(key, value, errors));
        if let Some(Setting::Literal(Value::Text(value) | Value::Names(value))) = &setting
            && let Some(name) = of_the_call(value.to_token_stream(), parameters)
        {
            let message = format!(
                "`{}` is read when the program starts, and `{name}` is known in a call only; \
                 write a constant",
                key.name(),
            );
            errors.at(name.span(), message);
        }
        settings.extend(setting.map(|setting| (key, setting)));
    }
    Settings(settings)
}

/// A name in an expression that a `static` cannot have: a parameter, or `Self`.
fn of_the_call(value: TokenStream, parameters: &[Ident]) -> Option<Ident> {
    let is_part =
        |token: &TokenTree| matches!(token, TokenTree::Punct(p) if ":.".contains(p.as_char()));
    let mut follows_a_part = false;
    for token in value {
        match &token {
            TokenTree::Group(group) => {
                let found = of_the_call(group.stream(), parameters);
                if found.is_some() {
                    return found;
                }
            }
            TokenTree::Ident(name)
                if !follows_a_part && (name == "Self" || parameters.contains(name)) =>
            {
                return Some(name.clone());
            }
            _ => {}
        }
        follows_a_part = is_part(&token);
    }
    None
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
    let usual = dependency();
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

/// `::redlock_runtime`, or the name that the crate's manifest gives this dependency.
fn dependency() -> TokenStream {
    static RENAMED: OnceLock<Option<String>> = OnceLock::new();
    let arguments = || std::env::args_os().map(|it| it.to_string_lossy().into_owned());
    let renamed = RENAMED.get_or_init(|| renamed(arguments()));
    let name = renamed.as_deref().unwrap_or(RUNTIME);
    let name = Ident::new(name, Span::call_site());
    quote!(::#name)
}

const RUNTIME: &str = "redlock_runtime";

/// The name of a renamed runtime, by the arguments of the compiler that runs the macro: `--extern
/// name=…/libredlock_runtime-….rmeta`. Nothing is found in an editor's macro server, which has no such
/// arguments.
fn renamed(mut arguments: impl Iterator<Item = String>) -> Option<String> {
    let file = format!("lib{RUNTIME}-");
    let mut renamed = None;
    while arguments.any(|argument| argument == "--extern") {
        let argument = arguments.next()?;
        let Some((name, path)) = argument.split_once('=') else {
            continue;
        };
        if name == RUNTIME {
            return None;
        }
        let is_runtime = path
            .rsplit(['/', '\\'])
            .next()
            .is_some_and(|it| it.starts_with(&file));
        if is_runtime && syn::parse_str::<Ident>(name).is_ok() {
            renamed = Some(name.to_owned());
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn a_renamed_runtime_is_found() {
        let table = [
            (
                "rustc --extern locks=/t/libredlock_runtime-5f.rmeta",
                Some("locks"),
            ),
            (
                "rustc --extern a=/t/liba-1.rlib --extern redlock_runtime=/t/libredlock_runtime-5f.rlib",
                None,
            ),
            (
                "rustc --extern locks=/t/libredlock_runtime-5f.rlib --extern redlock_runtime=/t/x.rlib",
                None,
            ),
            (
                "rustc --crate-name a --extern tokio=/t/libtokio-1.rlib",
                None,
            ),
            ("rustc --cfg feature=\"/libredlock_runtime-\" x=y", None),
        ];
        for (arguments, expected) in table {
            let found = renamed(arguments.split(' ').map(str::to_owned));
            assert_eq!(found.as_deref(), expected, "{arguments}");
        }
    }
}
