//! The `resource` parameter: template literals become literals for `format_args!`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Expr, ExprArray, Ident, Index, Lit, LitStr};

use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Resource, Template};
use crate::suggest::listed;
use crate::template::{Placeholder, Scanned, scan};
use crate::value::{bare, literal};

/// The limit of a key, in bytes. The runtime refuses a longer key too.
const MAX_BYTES: usize = 1024;
/// The limit of names. The runtime refuses more names too.
const MAX_NAMES: usize = 128;

/// Checks the resource. `parameters` are the names with which a dotted placeholder can begin.
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

/// An array of templates. An array without a template is an expression. In an array with both,
/// braces in a user's string would be ambiguous.
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
        // The user's own token, so that rustc underlines the placeholder.
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

/// Replaces each dotted placeholder by a plain name, with an argument of that name.
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

    // There are fewer arguments than paths if a root was unknown; its error was reported already.
    (arguments.len() == paths.len()).then(|| Template {
        written: written.clone(),
        format: LitStr::new(&format, span),
        arguments,
    })
}

/// A name that the template does not contain, as a name in it could mean a variable of the user.
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
        // A name of a `macro_rules!` macro and the same name of its caller: the template's writer
        // sees this one.
        span
    } else {
        // The parameter's own token resolves as the parameter does; its span is the literal. `self`
        // is a keyword with hygiene, and stays exactly the receiver's token.
        span.resolved_at(parameter.span())
    });
    let mut path = parameter.into_token_stream();
    for field in fields {
        let field = match field.parse::<u32>() {
            Ok(index) => Index { index, span }.into_token_stream(),
            // A raw identifier, as the name of a field may be a keyword; rustc treats both as the
            // same name.
            Err(_) if syn::parse_str::<Ident>(field).is_err() => {
                Ident::new_raw(field, span).into_token_stream()
            }
            Err(_) => Ident::new(field, span).into_token_stream(),
        };
        path = quote!(#path.#field);
    }
    Some((Ident::new(&argument_name(index, text), span), path))
}

/// A parameter's name as a template contains it: `type` for `r#type`.
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
