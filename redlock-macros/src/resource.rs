//! The parameters `resource` and `note`, which are expressions or templates.
//!
//! The literal of a template becomes a literal for `format_args!`.

use proc_macro2::Span;
use quote::{ToTokens as _, quote_spanned};
use syn::{Expr, ExprArray, Ident, Index, Lit, LitStr};

use crate::errors::Errors;
use crate::parameters::Key;
use crate::placeholder_names::{Names, identifier};
use crate::plan::{FormatArgument, ResourcePlan, Template, TextPlan};
use crate::template::{Placeholder, scan};
use crate::value::{bare, empty, literal, takes};

/// Copies of the limits in `redlock-core`, because this crate does not depend on that one.
const MAX_RESOURCE: usize = 1024;
const MAX_NOTE: usize = 256;

/// Checks the resource.
pub(crate) fn resource(value: &Expr, names: &Names, errors: &mut Errors) -> Option<ResourcePlan> {
    match bare(value) {
        Expr::Array(array) => all(array, names, errors),
        _ => text(Key::Resource, value, names, errors).map(ResourcePlan::One),
    }
}

/// Checks an array of templates. An array with no template in it is an expression. An array that mixes templates and
/// other values is refused, because braces in a user's string would be ambiguous.
fn all(array: &ExprArray, names: &Names, errors: &mut Errors) -> Option<ResourcePlan> {
    if array.elems.is_empty() {
        errors.under(array, empty(Key::Resource));
        return None;
    }
    let is_text = |element| matches!(literal(element), Some(Lit::Str(_)));
    if !array.elems.iter().any(is_text) {
        let expression = TextPlan::Expression(Expr::Array(array.clone()));
        return Some(ResourcePlan::One(expression));
    }
    let mut templates: Vec<Template> = Vec::new();
    for element in &array.elems {
        let Some(Lit::Str(written)) = literal(element) else {
            errors.under(
                element,
                "an array in `resource` takes either templates or expressions; instead of a template, write \
                 `format!(\"account:{from}\")`",
            );
            continue;
        };
        let is_same = |other: &Template| other.written.value() == written.value();
        if templates.iter().any(is_same) {
            errors.at(written.span(), "duplicate resource; name it once");
        } else {
            templates.extend(template(Key::Resource, written, names, errors));
        }
    }
    (templates.len() == array.elems.len()).then_some(ResourcePlan::All(templates))
}

/// Checks the value of the parameter `key`: a note, or a resource of one name.
pub(crate) fn text(key: Key, value: &Expr, names: &Names, errors: &mut Errors) -> Option<TextPlan> {
    match literal(value) {
        Some(Lit::Str(written)) => template(key, written, names, errors).map(TextPlan::Template),
        Some(Lit::ByteStr(_)) if key == Key::Resource => Some(TextPlan::Expression(value.clone())),
        None => Some(TextPlan::Expression(value.clone())),
        Some(_) => {
            errors.under(value, takes(key, "a template or an expression"));
            None
        }
    }
}

/// Checks the template of the parameter `key`.
fn template(key: Key, written: &LitStr, names: &Names, errors: &mut Errors) -> Option<Template> {
    let (text, span) = (written.value(), written.span());
    let outside = |piece: &str| piece.split_once('}').map_or(piece.len(), |it| it.1.len());
    let length: usize = text.split('{').map(outside).sum();
    let most = [MAX_RESOURCE, MAX_NOTE][usize::from(key == Key::Note)];
    let name = key.name();
    let placeholders = if text.is_empty() {
        Err(empty(key))
    } else if key == Key::Resource && text.starts_with("redlock:") {
        Err(
            "`resource` must not begin with `redlock:`; that prefix is the library's own"
                .to_owned(),
        )
    } else if length > most {
        Err(format!(
            "`{name}` has {length} bytes of text, and at most {most} are allowed"
        ))
    } else {
        scan(name, &text)
    };
    let placeholders = placeholders
        .map_err(|message| errors.at(span, message))
        .ok()?;
    let mut arguments = Vec::new();
    let mut format = written.clone();
    // Keep the user's token if possible, so that rustc can underline a placeholder.
    if names.has_errors || placeholders.iter().any(Placeholder::is_renamed) {
        let renamed = renamed(&text, span, &placeholders, names, errors);
        arguments = renamed.1;
        format = LitStr::new(&renamed.0, span);
    }
    Some(Template {
        written: written.clone(),
        format,
        arguments,
    })
}

/// Replaces each dotted placeholder and each part by an argument with a plain name.
//
// The input and the output:
// ```
//     "{order.id:08}/{order.id}/{pair.0}/{name}/{title:part}"
//     "{arg0:08}/{arg0}/{arg1}/{name}/{arg2}", arg0 = order.id, arg1 = pair.0, arg2 = part(&title)
// ```
fn renamed(
    text: &str,
    span: Span,
    placeholders: &[Placeholder<'_>],
    names: &Names,
    errors: &mut Errors,
) -> (String, Vec<FormatArgument>) {
    let mut format = String::with_capacity(text.len());
    let mut arguments: Vec<FormatArgument> = Vec::new();
    let mut copied = 0;
    for (index, placeholder) in placeholders.iter().enumerate() {
        let is_same = |other: &Placeholder<'_>| {
            other.path == placeholder.path && other.is_part == placeholder.is_part
        };
        let first = placeholders.iter().position(is_same).unwrap_or(index);
        if first == index {
            match argument(&argument_name(index, text), span, placeholder, names) {
                Ok(argument) => arguments.extend(argument),
                Err(message) => errors.at(span, message),
            }
        }
        if placeholder.is_renamed() {
            format.push_str(&text[copied..placeholder.range.start]);
            format.push_str(&argument_name(first, text));
            copied = placeholder.range.end;
        }
    }
    format.push_str(&text[copied..]);
    (format, arguments)
}

/// Returns an unused name: a name in the template could mean a variable of the user.
fn argument_name(index: usize, text: &str) -> String {
    let mut name = format!("arg{index}");
    while text.contains(&name) {
        name.insert(0, '_');
    }
    name
}

/// Returns the argument for a placeholder that has to be renamed, or `None` for any other.
///
/// # Errors
/// Returns a message if the placeholder begins with an unknown name, or is not a path of fields.
fn argument(
    name: &str,
    span: Span,
    placeholder: &Placeholder<'_>,
    names: &Names,
) -> Result<Option<FormatArgument>, String> {
    let no_path = || {
        let written = placeholder.path.join(".");
        format!("`{{{written}}}` is not a path of fields; write `{{order.id}}` or `{{pair.0}}`")
    };
    let (root, fields) = (placeholder.path[0], &placeholder.path[1..]);
    let root = names.resolve(root, !fields.is_empty(), span)?;
    if !placeholder.is_renamed() {
        return Ok(None);
    }
    let mut value = root.ok_or_else(no_path)?.into_token_stream();
    // The span has the place of the literal and the hygiene of the macro. Without the hygiene, rustc
    // would offer to replace the whole literal by the name of a similar field.
    let here = Span::mixed_site().located_at(span);
    for field in fields {
        let field = match field.parse::<u32>() {
            Ok(index) => Index { index, span: here }.into_token_stream(),
            // The name of a field may be a keyword, so it becomes a raw identifier. rustc treats both
            // forms as one name.
            Err(_) => identifier(field, here)
                .ok_or_else(no_path)?
                .into_token_stream(),
        };
        value = quote_spanned!(here=> #value.#field);
    }
    Ok(Some(FormatArgument {
        name: Ident::new(name, span),
        value,
        is_part: placeholder.is_part,
    }))
}

#[cfg(test)]
mod tests {
    use super::{Template, template};
    use crate::errors::Errors;
    use crate::parameters::Key;
    use crate::placeholder_names::Names;

    /// Checks `text` as the template of `key`, and returns the template and the errors.
    fn read(key: Key, text: &str) -> (Option<Template>, Vec<String>) {
        let names = Names {
            parameters: ["a", "b", "r#type"]
                .map(|name| syn::parse_str(name).expect(name))
                .into(),
            has_errors: false,
            statements: quote::quote!(),
        };
        let literal = syn::LitStr::new(text, proc_macro2::Span::call_site());
        let mut errors = Errors::default();
        let template = template(key, &literal, &names, &mut errors);
        (template, errors.messages())
    }

    #[test]
    fn a_text_that_no_lock_can_have_is_refused() {
        for (key, most) in [(Key::Resource, 1024), (Key::Note, 256)] {
            for (length, refusals) in [(most, 0), (most + 1, 1)] {
                let text = format!("{{a}}{{{{{}", "x".repeat(length));
                assert_eq!(read(key, &text).1.len(), refusals, "{length} bytes");
            }
        }
    }

    #[test]
    fn a_part_becomes_an_argument_of_its_own() {
        let written = "{a:part}:{b.c:part}:{a}:{b.c}:{a:part}:{LIMIT:part}:{type:part}";
        let (template, errors) = read(Key::Resource, written);
        assert_eq!(errors, [""; 0]);
        let template = template.expect("a template");
        let format = "{arg0}:{arg1}:{a}:{arg3}:{arg0}:{arg5}:{arg6}";
        assert_eq!(template.format.value(), format);
        let arguments = template.arguments.iter();
        let arguments = arguments.map(|it| (it.value.to_string(), it.is_part));
        let expected = [
            ("a", true),
            ("b . c", true),
            ("b . c", false),
            ("LIMIT", true),
            ("r#type", true),
        ];
        assert!(arguments.eq(expected.map(|(value, is_part)| (value.to_owned(), is_part))));
    }

    #[test]
    fn only_fields_follow_a_dot() {
        for path in ["a.", ".a", "a..b", "a.b c", "a.🦀", "a.r#self", "a.-"] {
            let (_, errors) = read(Key::Resource, &format!("{{{path}}}"));
            let is_told = errors.len() == 1 && errors[0].contains("is not a path of fields");
            assert!(is_told, "{path}: {errors:?}");
        }
    }
}
