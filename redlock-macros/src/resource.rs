//! The `resource` parameter: template literals become literals for `format_args!`.

use proc_macro2::Span;
use quote::{ToTokens as _, quote_spanned};
use syn::{Expr, ExprArray, Ident, Index, Lit, LitStr};

use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Argument, Resource, Template};
use crate::suggest::listed;
use crate::template::{Placeholder, Scanned, scan};
use crate::unreplaced::{Unreplaced, plain, strings_in, unreplaced};
use crate::value::{bare, literal};

/// The longest key, in bytes. The runtime refuses a longer key too.
const MAX_BYTES: usize = 1024;
/// The largest number of names. The runtime refuses more names too.
const MAX_NAMES: usize = 128;

/// The names with which a dotted placeholder can begin.
pub(crate) struct Names {
    pub parameters: Vec<Ident>,
    /// The words in the statements before a returned future. The variables are among them.
    pub locals: Vec<Ident>,
}

/// Checks the resource.
pub(crate) fn check(value: &Expr, names: &Names, errors: &mut Errors) -> Option<Resource> {
    if let Expr::Array(array) = bare(value) {
        return all(array, names, errors);
    }
    match literal(value) {
        Some(Lit::Str(written)) => template(written, names, errors).map(Resource::Template),
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
        _ => expression(value, names, errors),
    }
}

/// Checks an expression. A string in an expression is no template, so a placeholder in it is a mistake:
/// all calls would take the same lock.
fn expression(value: &Expr, names: &Names, errors: &mut Errors) -> Option<Resource> {
    let unreplaced = unreplaced(value.to_token_stream(), &names.parameters);
    let is_only = strings_in(value.to_token_stream()) == 1;
    for Unreplaced { span, inside, text } in &unreplaced {
        let template = if is_only {
            format!("write `resource = {text:?}`")
        } else {
            "write the template as one literal".to_owned()
        };
        errors.at(
            *span,
            format!(
                "`{{{inside}}}` in this string is not replaced, as only a literal on its own is a template; \
                 {template}, or use `format!`"
            ),
        );
    }
    let expression = || Resource::Expression(value.clone());
    unreplaced.is_empty().then(expression)
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
        return expression(&Expr::Array(array.clone()), names, errors);
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
        match template(written, names, errors) {
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

fn template(written: &LitStr, names: &Names, errors: &mut Errors) -> Option<Template> {
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
    for placeholder in scanned
        .placeholders
        .iter()
        .filter(|placeholder| placeholder.is_renamed())
    {
        let path = (&*placeholder.path, placeholder.is_part);
        let index = paths
            .iter()
            .position(|known| *known == path)
            .unwrap_or_else(|| {
                arguments.extend(argument(
                    paths.len(),
                    placeholder,
                    span,
                    text,
                    names,
                    errors,
                ));
                paths.push(path);
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
    names: &Names,
    errors: &mut Errors,
) -> Option<Argument> {
    let (root, fields) = placeholder.path.split_first()?;
    let name = Ident::new(&argument_name(index, text), span);
    let is_part = placeholder.is_part;
    // A name that is no parameter is a constant, or a mistake that rustc explains.
    let item = || fields.is_empty().then(|| identifier(root, span)).flatten();
    let Some(root) = variable(root, span, names).or_else(item) else {
        errors.at(span, unknown_parameter(root, &names.parameters));
        return None;
    };
    let mut path = root.into_token_stream();
    // The span has the place of the literal and the hygiene of the macro. Without the hygiene, rustc
    // would offer to replace the whole literal by the name of a similar field.
    let here = Span::mixed_site().located_at(span);
    for field in fields {
        let field = match field.parse::<u32>() {
            Ok(index) => Index { index, span: here }.into_token_stream(),
            // A raw identifier, as the name of a field may be a keyword; rustc treats both as the
            // same name.
            Err(_) => identifier(field, here)?.into_token_stream(),
        };
        path = quote_spanned!(here=> #path.#field);
    }
    Some(Argument {
        name,
        value: path,
        is_part,
    })
}

/// The variable, constant or static with which a dotted placeholder begins.
fn variable(root: &str, span: Span, names: &Names) -> Option<Ident> {
    let is_root = |name: &&Ident| plain(name) == root;
    let mut named_so = names.parameters.iter().filter(is_root);
    let parameter = named_so.next();
    let Some(known) = parameter.or_else(|| names.locals.iter().find(is_root)) else {
        // A constant or a static by its spelling. rustc knows whether it exists. With the macro's
        // hygiene the name means an item only.
        let is_constant = root != "Self" && root.starts_with(char::is_uppercase);
        let is_constant = is_constant && !root.contains(char::is_lowercase);
        let here = Span::mixed_site().located_at(span);
        return is_constant.then(|| identifier(root, here)).flatten();
    };
    let mut known = known.clone();
    known.set_span(if named_so.next().is_some() {
        // A `macro_rules!` macro and its caller use the same name. The literal's own span finds the
        // variable that the template's writer sees.
        span
    } else {
        // The parameter's own token resolves as the parameter does. Its span is the literal.
        // `self` is a keyword with hygiene, and stays exactly the receiver's token.
        span.resolved_at(known.span())
    });
    Some(known)
}

/// A name as an identifier, also if it is a keyword.
fn identifier(name: &str, span: Span) -> Option<Ident> {
    let raw = || syn::parse_str::<Ident>(&format!("r#{name}"));
    let mut identifier = syn::parse_str::<Ident>(name).or_else(|_| raw()).ok()?;
    identifier.set_span(span);
    Some(identifier)
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

#[cfg(test)]
mod tests {
    use quote::format_ident;
    use syn::parse_quote;

    use super::template;
    use crate::errors::Errors;

    #[test]
    fn a_part_becomes_an_argument_of_its_own() {
        let written =
            parse_quote!("{a:part}:{b.c:part}:{a}:{b.c}:{a:part}:{LIMIT:part}:{type:part}");
        let names = super::Names {
            parameters: vec![format_ident!("a"), format_ident!("b")],
            locals: Vec::new(),
        };
        let mut errors = Errors::default();
        let template = template(&written, &names, &mut errors);
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
