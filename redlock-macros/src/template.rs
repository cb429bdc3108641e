//! Scans the text of a template for its placeholders.
//!
//! `format_args!` checks the rest of the grammar, because it reports errors better than a macro can.

use std::ops::Range;

use crate::errors::nearest;

/// A `{…}` of a template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placeholder<'a> {
    /// The bytes of the template that a new name replaces: the text between the braces, up to a `:spec`.
    /// A `:part` is replaced too, because `format_args!` does not know it.
    pub range: Range<usize>,
    /// The name split at its dots: `["order", "id"]`. A plain name is one segment. Each `r#` is stripped.
    pub path: Vec<&'a str>,
    /// True for `{name:part}`, whose value becomes one part of the resource's name.
    pub is_part: bool,
}

impl Placeholder<'_> {
    /// True if `format_args!` needs a plain name in place of the placeholder.
    pub(crate) fn is_renamed(&self) -> bool {
        self.path.len() > 1 || self.is_part
    }
}

/// Finds the placeholders of a template of the parameter named `key`.
///
/// # Errors
/// Returns a message that says why the template cannot be used.
pub(crate) fn scan<'a>(key: &str, text: &'a str) -> Result<Vec<Placeholder<'a>>, String> {
    let mut placeholders = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find(['{', '}']) {
        at += offset;
        let (brace, rest) = text[at..].split_at(1);
        if rest.starts_with(brace) {
            at += 2;
            continue;
        }
        let inside = match rest.split_once('}') {
            Some((inside, _)) if brace == "{" => inside,
            _ => {
                return Err(format!(
                    "unmatched `{brace}` in `{key}`; write `{brace}{brace}` for the brace itself"
                ));
            }
        };
        if key == "resource" && text[..at].ends_with('$') {
            return Err(format!(
                "the `$` in `${{{inside}}}` would be in the key; write `{{{inside}}}`, or, if the `$` is wanted, \
                 `resource = format!(\"…${{{inside}}}…\")`"
            ));
        }
        placeholders.push(placeholder(key, inside, at + 1)?);
        at += inside.len() + 2;
    }
    Ok(placeholders)
}

/// Parses the text between two braces, which begins at the offset `start` of the template.
fn placeholder<'a>(key: &str, inside: &'a str, start: usize) -> Result<Placeholder<'a>, String> {
    let (name, spec) = inside.split_once(':').unwrap_or((inside, ""));
    let (name, is_part) = (name.trim(), spec.trim() == "part");
    // A second colon is the fill of the spec in `{id::<8}`, but continues the path in `{Self::P}`.
    let goes_on = spec.strip_prefix(':').unwrap_or_default();
    let is_path = goes_on.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if is_path || name.contains(['[', '(']) {
        let written = if is_path { inside.trim() } else { name };
        return Err(format!(
            "a placeholder in `{key}` is a name or a path of fields; \
             for `{written}` use `format!`: `{key} = format!(\"…{{}}…\", {written})`"
        ));
    }
    if name.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "`{{{inside}}}` in `{key}` has no name; use a named placeholder such as `{{id}}`"
        ));
    }
    if !is_part && spec.chars().all(char::is_alphabetic) && nearest(spec, ["part"]).is_some() {
        return Err(format!(
            "`{{{inside}}}` has an unknown format; did you mean `{{{name}:part}}`?"
        ));
    }
    let range = if is_part {
        start..start + inside.len()
    } else {
        let offset = inside.len() - inside.trim_start().len();
        start + offset..start + offset + name.len()
    };
    let segments = name.split('.');
    let path = segments.map(|segment| segment.strip_prefix("r#").unwrap_or(segment));
    Ok(Placeholder {
        range,
        path: path.collect(),
        is_part,
    })
}

#[cfg(test)]
mod tests {
    use super::scan;

    fn names(text: &str) -> Vec<String> {
        let placeholders = scan("resource", text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        for placeholder in &placeholders {
            let written = text[placeholder.range.clone()].replace("r#", "");
            assert_eq!(written, placeholder.path.join("."));
        }
        placeholders.iter().map(|p| p.path.join(".")).collect()
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
            ("{name:>part$}", "name", ""),
        ];
        for (text, range, path) in table {
            let placeholder = &scan("resource", text).expect(text)[0];
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
            ("order:{id", "unmatched `{`"),
            ("{id}}", "unmatched `}`"),
            ("{}", "`{}` in `resource` has no name"),
            ("{:08}", "`{:08}` in `resource` has no name"),
            ("{ a[0].b:08}", "for `a[0].b` use"),
            ("{f(a)}", "for `f(a)` use"),
            ("{Self::P}", "for `Self::P` use"),
            ("{::a::P:08}", "for `::a::P:08` use"),
        ];
        for (text, expected) in table {
            let fault = scan("resource", text).expect_err(text);
            assert!(fault.contains(expected), "{text}: {fault}");
        }
    }
}
