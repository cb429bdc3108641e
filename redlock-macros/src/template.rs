//! A template, read as plain text: its placeholders and their kinds.
//!
//! The rest of the grammar is left to `format_args!`, which reports errors in it better than a
//! macro can.

use std::ops::Range;

use syn::Ident;
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;

/// One `{…}` of a template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placeholder<'a> {
    /// The range of the name in the template, without the braces and the `:spec`. With `:part`, which
    /// `format_args!` does not know.
    pub range: Range<usize>,
    /// The name split at its dots, without `r#`: `["order", "id"]`. Plain placeholders have one
    /// segment.
    pub path: Vec<&'a str>,
    /// True for `{name:part}`: the value becomes one part of the name.
    pub is_part: bool,
}

impl Placeholder<'_> {
    /// True if `format_args!` cannot take the placeholder unchanged.
    pub(crate) fn is_renamed(&self) -> bool {
        self.path.len() > 1 || self.is_part
    }
}

/// The reason why a template cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `{` without `}`.
    Unclosed,
    /// `}` without `{`.
    Unopened,
    /// `{}` or `{0}`.
    Positional(String),
    /// A dotted placeholder with a segment that is neither a field name nor a tuple index.
    BadField(String),
    /// `{x[0]}`, `{x.len()}` or `{Self::P}`.
    Expression(String),
}

impl Fault {
    /// The error, for a template of the parameter named `key`.
    pub(crate) fn explain(&self, key: &str) -> String {
        match self {
            Self::Unclosed => {
                format!("unmatched `{{` in `{key}`; write `{{{{` for the brace itself")
            }
            Self::Unopened => {
                format!("unmatched `}}` in `{key}`; write `}}}}` for the brace itself")
            }
            Self::Positional(written) => format!(
                "`{{{written}}}` in `{key}` has no name; use a named placeholder such as `{{id}}`"
            ),
            Self::BadField(written) => format!(
                "`{{{written}}}` in `{key}` is no path of fields; write `{{order.id}}` or `{{pair.0}}`"
            ),
            Self::Expression(written) => format!(
                "a placeholder in `{key}` is a name or a path of fields; \
                 for `{written}` use `format!`: `{key} = format!(\"…{{}}…\", {written})`"
            ),
        }
    }
}

/// The template's parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned<'a> {
    /// The placeholders in the order of the template.
    pub placeholders: Vec<Placeholder<'a>>,
    /// The number of bytes of the resource that do not depend on the arguments.
    pub fixed_len: usize,
    /// The fixed text before the first placeholder, with escapes resolved.
    pub prefix: String,
}

/// Finds the placeholders of a template.
pub(crate) fn scan(text: &str) -> Result<Scanned<'_>, Fault> {
    let mut scanned = Scanned::default();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at + next.len_utf8()..];
        match next {
            '{' if rest.starts_with('{') => at += scanned.fixed("{") + 1,
            '}' if rest.starts_with('}') => at += scanned.fixed("}") + 1,
            '}' => return Err(Fault::Unopened),
            '{' => {
                let inside = rest.split_once('}').ok_or(Fault::Unclosed)?.0;
                let placeholder = placeholder(inside, at + 1)?;
                scanned.placeholders.push(placeholder);
                at += inside.len() + 2;
            }
            other => at += scanned.fixed(other.encode_utf8(&mut [0; 4])),
        }
    }
    Ok(scanned)
}

impl Scanned<'_> {
    /// Counts fixed text and returns its length.
    fn fixed(&mut self, text: &str) -> usize {
        if self.placeholders.is_empty() {
            self.prefix.push_str(text);
        }
        self.fixed_len += text.len();
        text.len()
    }
}

/// Parses the text between two braces; `start` is its offset in the template.
fn placeholder(inside: &str, start: usize) -> Result<Placeholder<'_>, Fault> {
    if let Some(expression) = expression(inside) {
        return Err(Fault::Expression(expression.to_owned()));
    }
    let (name, spec) = inside.split_once(':').unwrap_or((inside, ""));
    let (name, is_part) = (name.trim(), spec.trim() == "part");
    if name.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Fault::Positional(inside.to_owned()));
    }
    let range = if is_part {
        start..start + inside.len()
    } else {
        range_of(name, inside, start)
    };
    let path: Vec<&str> = name.split('.').collect();
    // `format_args!` checks a plain name, however unusual it is.
    if path.len() == 1 {
        return Ok(Placeholder {
            range,
            path,
            is_part,
        });
    }
    let path: Vec<&str> = path.into_iter().map(without_prefix).collect();
    if !(is_name(path[0]) && path[1..].iter().all(|part| is_field(part))) {
        return Err(Fault::BadField(name.to_owned()));
    }
    Ok(Placeholder {
        range,
        path,
        is_part,
    })
}

fn range_of(name: &str, inside: &str, start: usize) -> Range<usize> {
    let offset = inside.len() - inside.trim_start().len();
    start + offset..start + offset + name.len()
}

/// The expression, if the placeholder has an index, a call or a path.
fn expression(inside: &str) -> Option<&str> {
    let (name, spec) = inside.split_once(':').unwrap_or((inside, ""));
    // In `{id::<8}`, the second colon is the fill of the spec.
    let rest = spec.strip_prefix(':').unwrap_or_default();
    if rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return Some(inside.trim());
    }
    name.contains(['[', '(']).then_some(name.trim())
}

fn without_prefix(part: &str) -> &str {
    part.strip_prefix("r#").unwrap_or(part)
}

fn is_name(part: &str) -> bool {
    matches!(part, "self" | "Self")
        || is_field(part) && !part.starts_with(|c: char| c.is_ascii_digit())
}

/// A field becomes an identifier, and the constructor panics on an invalid one.
fn is_field(part: &str) -> bool {
    if part.starts_with(|c: char| c.is_ascii_digit()) {
        let index = part.bytes().all(|b| b.is_ascii_digit());
        return index && (part == "0" || !part.starts_with('0')) && part.len() < 10;
    }
    let is_word = part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_reserved = matches!(part, "" | "_" | "self" | "Self" | "super" | "crate");
    // Only the lexer knows all letters that can begin an identifier.
    is_word && !is_reserved && (part.is_ascii() || Ident::parse_any.parse_str(part).is_ok())
}

#[cfg(test)]
mod tests {
    use super::{Fault, scan};

    fn names(text: &str) -> Vec<String> {
        let scanned = scan(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        for placeholder in &scanned.placeholders {
            let written = text[placeholder.range.clone()].replace("r#", "");
            assert_eq!(written, placeholder.path.join("."));
        }
        scanned
            .placeholders
            .iter()
            .map(|p| p.path.join("."))
            .collect()
    }

    #[test]
    fn placeholders_are_found() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("global", &[]),
            ("order:{id}", &["id"]),
            ("{a}{b}:{c}", &["a", "b", "c"]),
            ("{id:08}", &["id"]),
            ("{id:?}", &["id"]),
            ("{id:>width$}", &["id"]),
            ("{order.id}", &["order.id"]),
            (
                "{self.id}/{user.org.id:04}/{pair.0}",
                &["self.id", "user.org.id", "pair.0"],
            ),
            ("{{literal}}", &[]),
            ("{{{id}}}", &["id"]),
            ("żółć:{numéro}:{id}", &["numéro", "id"]),
            ("{ id }", &["id"]),
            ("{type}", &["type"]),
            ("{grid.0.1}", &["grid.0.1"]),
            ("{o.größe}/{größe.o}", &["o.größe", "größe.o"]),
            ("{o.r#type}/{r#type.o}", &["o.type", "type.o"]),
            ("{id::<8}/{id::>8}/{o.id::^8}", &["id", "id", "o.id"]),
            ("{STATIC.id}", &["STATIC.id"]),
        ];
        for (text, expected) in table {
            assert_eq!(&names(text), expected, "{text}");
        }
    }

    #[test]
    fn a_part_is_a_placeholder_with_its_spec() {
        let table = [
            ("a:{name:part}:b", "name:part", "name"),
            ("{ order.id : part }", " order.id : part ", "order.id"),
            ("{name:parts}", "name", ""),
            ("{name:>part$}", "name", ""),
        ];
        for (text, range, path) in table {
            let scanned = scan(text).expect(text);
            let placeholder = &scanned.placeholders[0];
            assert_eq!(&text[placeholder.range.clone()], range, "{text}");
            assert_eq!(placeholder.is_part, !path.is_empty(), "{text}");
            assert!(
                path.is_empty() || placeholder.path.join(".") == path,
                "{text}"
            );
        }
    }

    #[test]
    fn faults_are_told_apart() {
        let table = [
            ("{", Fault::Unclosed),
            ("order:{id", Fault::Unclosed),
            ("}", Fault::Unopened),
            ("{id}}", Fault::Unopened),
            ("{}", Fault::Positional(String::new())),
            ("{:08}", Fault::Positional(":08".into())),
            ("{0}", Fault::Positional("0".into())),
            ("{12:?}", Fault::Positional("12:?".into())),
            ("{a.}", Fault::BadField("a.".into())),
            ("{.a}", Fault::BadField(".a".into())),
            ("{a..b}", Fault::BadField("a..b".into())),
            ("{a.b c}", Fault::BadField("a.b c".into())),
            ("{a.🦀}", Fault::BadField("a.🦀".into())),
            ("{a.r#self}", Fault::BadField("a.r#self".into())),
            ("{a.b()}", Fault::Expression("a.b()".into())),
            ("{a[0].b:08}", Fault::Expression("a[0].b".into())),
            ("{ a[0] }", Fault::Expression("a[0]".into())),
            ("{f(a)}", Fault::Expression("f(a)".into())),
            ("{Self::P}", Fault::Expression("Self::P".into())),
            ("{::a::P:08}", Fault::Expression("::a::P:08".into())),
            ("{a.01}", Fault::BadField("a.01".into())),
            ("{a.self}", Fault::BadField("a.self".into())),
            ("{a.-}", Fault::BadField("a.-".into())),
        ];
        for (text, expected) in table {
            assert_eq!(scan(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn fixed_text_is_measured() {
        let table = [
            ("", 0, ""),
            ("ab{id}cd", 4, "ab"),
            ("{{x}}", 3, "{x}"),
            ("é{id}", 2, "é"),
        ];
        for (text, len, prefix) in table {
            let scanned = scan(text).expect(text);
            assert_eq!(
                (scanned.fixed_len, &*scanned.prefix),
                (len, prefix),
                "{text}"
            );
        }
    }
}
