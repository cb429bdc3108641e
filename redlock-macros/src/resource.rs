//! The `resource` parameter: the literals of templates made ready for `format_args!`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Expr, ExprArray, Ident, Index, Lit, LitStr};

use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Resource, Template};
use crate::suggest::listed;
use crate::template::{Placeholder, Scanned, scan};
use crate::value::{bare, literal};

/// A key longer than this is refused by the runtime too,
const MAX_BYTES: usize = 1024;
/// and so are more names.
const MAX_NAMES: usize = 128;

/// Checks the resource; `parameters` are the names that a dotted placeholder can begin with.
pub(crate) fn check(value: &Expr, parameters: &[Ident], errors: &mut Errors) -> Option<Resource> {
    if let Expr::Array(array) = bare(value) {
        return all(array, parameters, errors);
    }
    match literal(value) {
        Some(Lit::Str(written)) => template(written, parameters, errors).map(Resource::Template),
        Some(Lit::ByteStr(bytes)) if bytes.value().is_empty() => {
            errors.under(value, empty());
            None
        }
        Some(Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) | Lit::Char(_) | Lit::Byte(_)) => {
            let example = Key::Resource.example();
            errors.under(
                value,
                format!("`resource` takes a template or an expression; write `{example}`"),
            );
            None
        }
        _ => Some(Resource::Expression(value.clone())),
    }
}

/// An array of templates. One without any is an expression like others; one with both would have
/// to guess whether the braces in a string of the user's are meant.
fn all(array: &ExprArray, parameters: &[Ident], errors: &mut Errors) -> Option<Resource> {
    let text = |element| match literal(element) {
        Some(Lit::Str(written)) => Some(written),
        _ => None,
    };
    if array.elems.is_empty() {
        errors.under(array, empty());
        return None;
    }
    if array.elems.len() > MAX_NAMES {
        let names = array.elems.len();
        errors.under(
            array,
            format!("`resource` must not have more than {MAX_NAMES} names; this one has {names}"),
        );
        return None;
    }
    if array.elems.iter().all(|element| text(element).is_none()) {
        return Some(Resource::Expression(Expr::Array(array.clone())));
    }
    let mut templates: Vec<Template> = Vec::new();
    let mut whole = true;
    for element in &array.elems {
        let Some(written) = text(element) else {
            errors.under(
                element,
                "an array in `resource` has templates only; write `[\"account:{from}\", \"account:{to}\"]`",
            );
            whole = false;
            continue;
        };
        if templates
            .iter()
            .any(|other| other.written.value() == written.value())
        {
            errors.at(written.span(), "duplicate resource; name it once");
            whole = false;
            continue;
        }
        match template(written, parameters, errors) {
            Some(template) => templates.push(template),
            None => whole = false,
        }
    }
    whole.then_some(Resource::All(templates))
}

fn empty() -> String {
    format!(
        "`resource` must not be empty; write `{}`",
        Key::Resource.example()
    )
}

fn template(written: &LitStr, parameters: &[Ident], errors: &mut Errors) -> Option<Template> {
    let text = written.value();
    let scanned = match scan(&text) {
        Ok(scanned) => scanned,
        Err(fault) => {
            errors.at(written.span(), fault);
            return None;
        }
    };
    if let Some(problem) = unusable(&text, &scanned) {
        errors.at(written.span(), problem);
        return None;
    }
    if !scanned.placeholders.iter().any(Placeholder::is_dotted) {
        // The user's own token: rustc then underlines the placeholder itself.
        let (written, format) = (written.clone(), written.clone());
        return Some(Template {
            written,
            format,
            arguments: Vec::new(),
        });
    }
    renamed(written, &text, &scanned, parameters, errors)
}

fn unusable(text: &str, scanned: &Scanned<'_>) -> Option<String> {
    if text.is_empty() {
        return Some(empty());
    }
    if scanned.prefix.starts_with("redlock:") {
        return Some(
            "`resource` must not begin with `redlock:`; that prefix is the library's own"
                .to_owned(),
        );
    }
    if scanned.fixed_len > MAX_BYTES {
        let length = scanned.fixed_len;
        return Some(format!(
            "`resource` must not be longer than {MAX_BYTES} bytes; this one has {length}"
        ));
    }
    None
}

/// Gives each dotted placeholder a plain name and an argument of that name.
//
// Input:
//     "{order.id:08}/{order.id}/{pair.0}/{name}"
//
// Output:
//     "{arg0:08}/{arg0}/{arg1}/{name}", arg0 = order.id, arg1 = pair.0
fn renamed(
    written: &LitStr,
    text: &str,
    scanned: &Scanned<'_>,
    parameters: &[Ident],
    errors: &mut Errors,
) -> Option<Template> {
    let span = written.span();
    let mut format = String::with_capacity(text.len());
    let mut arguments: Vec<(Ident, TokenStream)> = Vec::new();
    let mut paths: Vec<&[&str]> = Vec::new();
    let mut copied = 0;
    for placeholder in scanned
        .placeholders
        .iter()
        .filter(|placeholder| placeholder.is_dotted())
    {
        let index = paths
            .iter()
            .position(|path| *path == placeholder.path)
            .unwrap_or_else(|| {
                arguments.extend(argument(
                    paths.len(),
                    placeholder,
                    span,
                    text,
                    parameters,
                    errors,
                ));
                paths.push(&placeholder.path);
                paths.len() - 1
            });
        format.push_str(&text[copied..placeholder.range.start]);
        format.push_str(&argument_name(index, text));
        copied = placeholder.range.end;
    }
    format.push_str(&text[copied..]);

    // Fewer arguments than paths: some root was unknown, and is complained about.
    (arguments.len() == paths.len()).then(|| Template {
        written: written.clone(),
        format: LitStr::new(&format, span),
        arguments,
    })
}

/// A name that the template does not contain, as it could mean a variable of the user's.
fn argument_name(index: usize, text: &str) -> String {
    let mut name = format!("arg{index}");
    while text.contains(&name) {
        name.insert(0, '_');
    }
    name
}

fn argument(
    index: usize,
    placeholder: &Placeholder<'_>,
    span: Span,
    text: &str,
    parameters: &[Ident],
    errors: &mut Errors,
) -> Option<(Ident, TokenStream)> {
    let (root, fields) = placeholder.path.split_first()?;
    let mut named_so = parameters.iter().filter(|name| plain(name) == *root);
    let Some(parameter) = named_so.next() else {
        errors.at(span, unknown_parameter(root, parameters));
        return None;
    };
    let mut parameter = parameter.clone();
    parameter.set_span(if named_so.next().is_some() {
        // A `macro_rules!` macro's own and its caller's: the one that the template's writer sees.
        span
    } else {
        // The parameter's own token, so that it resolves as the parameter does; shown at the
        // literal. `self` is a keyword with hygiene, and stays exactly what the receiver was.
        span.resolved_at(parameter.span())
    });
    let mut path = parameter.into_token_stream();
    for field in fields {
        let field = match field.parse::<u32>() {
            Ok(index) => Index { index, span }.into_token_stream(),
            // Raw, as a field may be named by a keyword; to rustc it is the same name.
            Err(_) if syn::parse_str::<Ident>(field).is_err() => {
                Ident::new_raw(field, span).into_token_stream()
            }
            Err(_) => Ident::new(field, span).into_token_stream(),
        };
        path = quote!(#path.#field);
    }
    Some((Ident::new(&argument_name(index, text), span), path))
}

/// A parameter's name as it is written in a template: `type` for `r#type`.
fn plain(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

fn unknown_parameter(root: &str, parameters: &[Ident]) -> String {
    let names: Vec<String> = parameters
        .iter()
        .map(plain)
        .filter(|name| !name.starts_with("__"))
        .collect();
    if names.is_empty() {
        return format!("unknown parameter `{root}`; the function has none");
    }
    format!(
        "unknown parameter `{root}`; available: {}",
        listed(names.iter().map(String::as_str))
    )
}
