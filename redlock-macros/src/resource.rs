//! The `resource` parameter, and templates: their literals become literals for `format_args!`.

use proc_macro2::Span;
use quote::{ToTokens as _, quote_spanned};
use syn::{Expr, ExprArray, Ident, Index, Lit, LitStr};

use crate::errors::Errors;
use crate::names::{Names, identifier};
use crate::parameters::Key;
use crate::plan::{Argument, Resource, Template};
use crate::template::{Placeholder, Scanned, scan};
use crate::value::{bare, literal};

/// The longest key, in bytes. The runtime refuses a longer key too.
const MAX_BYTES: usize = 1024;
/// The longest note, in bytes. The runtime cuts a longer note.
const MAX_NOTE_BYTES: usize = 256;
/// The largest number of names. The runtime refuses more names too.
const MAX_NAMES: usize = 128;

/// Checks the resource.
pub(crate) fn check(value: &Expr, names: &Names, errors: &mut Errors) -> Option<Resource> {
    if let Expr::Array(array) = bare(value) {
        return all(array, names, errors);
    }
    match literal(value) {
        Some(Lit::Str(written)) => {
            template(Key::Resource, written, names, errors).map(Resource::Template)
        }
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

/// Checks an array of templates. An array without a template is an expression. An array with both is
/// refused, because braces in a user's string would be ambiguous.
fn all(array: &ExprArray, names: &Names, errors: &mut Errors) -> Option<Resource> {
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
        match template(Key::Resource, written, names, errors) {
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

/// Checks the template of the parameter `key`.
pub(crate) fn template(
    key: Key,
    written: &LitStr,
    names: &Names,
    errors: &mut Errors,
) -> Option<Template> {
    let text = written.value();
    let scanned = match scan(&text) {
        Ok(scanned) => scanned,
        Err(fault) => {
            errors.at(written.span(), fault.explain(key.name()));
            return None;
        }
    };
    if let Some(problem) = unusable(key, &text, &scanned) {
        errors.at(written.span(), problem);
        return None;
    }
    if !scanned.placeholders.iter().any(Placeholder::is_renamed) {
        // The template keeps the user's own token, so that rustc underlines the placeholder.
        let (written, format) = (written.clone(), written.clone());
        return Some(Template {
            written,
            format,
            arguments: Vec::new(),
        });
    }
    renamed(written, &text, &scanned, names, errors)
}

fn unusable(key: Key, text: &str, scanned: &Scanned<'_>) -> Option<String> {
    let is_note = key == Key::Note;
    if text.is_empty() {
        return Some(if is_note {
            "`note` must not be empty; leave it out".to_owned()
        } else {
            empty()
        });
    }
    if !is_note && scanned.prefix.starts_with("redlock:") {
        return Some(
            "`resource` must not begin with `redlock:`; that prefix is the library's own"
                .to_owned(),
        );
    }
    let most = if is_note { MAX_NOTE_BYTES } else { MAX_BYTES };
    if scanned.fixed_len > most {
        let (name, length) = (key.name(), scanned.fixed_len);
        return Some(format!(
            "`{name}` must not be longer than {most} bytes; this one has {length}"
        ));
    }
    None
}

/// Replaces each dotted placeholder, and each part, by a plain name, with an argument of that name.
//
// Input:
//     "{order.id:08}/{order.id}/{pair.0}/{name}/{title:part}"
//
// Output:
//     "{arg0:08}/{arg0}/{arg1}/{name}/{arg2}", arg0 = order.id, arg1 = pair.0, arg2 = part(&title)
fn renamed(
    written: &LitStr,
    text: &str,
    scanned: &Scanned<'_>,
    names: &Names,
    errors: &mut Errors,
) -> Option<Template> {
    let span = written.span();
    let mut format = String::with_capacity(text.len());
    let mut arguments: Vec<Argument> = Vec::new();
    let mut paths: Vec<(&[&str], bool)> = Vec::new();
    let mut copied = 0;
    let mut is_known = true;
    for placeholder in &scanned.placeholders {
        if !placeholder.is_renamed() {
            if let Err(unknown) = names.check_plain(placeholder.path[0], span) {
                errors.at(span, unknown);
                is_known = false;
            }
            continue;
        }
        let path = (&*placeholder.path, placeholder.is_part);
        let index = paths
            .iter()
            .position(|known| *known == path)
            .unwrap_or_else(|| {
                let name = Ident::new(&argument_name(paths.len(), text), span);
                match argument(name, placeholder, names) {
                    Ok(argument) => arguments.extend(argument),
                    Err(unknown) => {
                        errors.at(span, unknown);
                        is_known = false;
                    }
                }
                paths.push(path);
                paths.len() - 1
            });
        format.push_str(&text[copied..placeholder.range.start]);
        format.push_str(&argument_name(index, text));
        copied = placeholder.range.end;
    }
    format.push_str(&text[copied..]);

    is_known.then(|| Template {
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

/// The value of a placeholder.
///
/// # Errors
/// If it begins with a name that is unknown.
fn argument(
    name: Ident,
    placeholder: &Placeholder<'_>,
    names: &Names,
) -> Result<Option<Argument>, String> {
    let span = name.span();
    let Some((root, fields)) = placeholder.path.split_first() else {
        return Ok(None);
    };
    let mut path = names
        .resolve(root, !fields.is_empty(), span)?
        .into_token_stream();
    // The span has the place of the literal and the hygiene of the macro. Without the hygiene, rustc
    // would offer to replace the whole literal by the name of a similar field.
    let here = Span::mixed_site().located_at(span);
    for field in fields {
        let field = match field.parse::<u32>() {
            Ok(index) => Index { index, span: here }.into_token_stream(),
            // A raw identifier, as the name of a field may be a keyword; rustc treats both as the
            // same name.
            Err(_) => identifier(field, here).into_token_stream(),
        };
        path = quote_spanned!(here=> #path.#field);
    }
    Ok(Some(Argument {
        name,
        value: path,
        is_part: placeholder.is_part,
    }))
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::template;
    use crate::errors::Errors;
    use crate::names::Names;
    use crate::parameters::Key;

    #[test]
    fn a_part_becomes_an_argument_of_its_own() {
        let written =
            parse_quote!("{a:part}:{b.c:part}:{a}:{b.c}:{a:part}:{LIMIT:part}:{type:part}");
        let names = Names {
            parameters: ["a", "b", "r#type"]
                .map(|name| syn::parse_str(name).expect(name))
                .into(),
            locals: Vec::new(),
        };
        let mut errors = Errors::default();
        let template = template(Key::Resource, &written, &names, &mut errors);
        assert_eq!(errors.messages(), [""; 0]);
        let template = template.expect("a template");
        let format = "{arg0}:{arg1}:{a}:{arg2}:{arg0}:{arg3}:{arg4}";
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
}
