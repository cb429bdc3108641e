//! The names with which the placeholders of a template begin, if `format_args!` does not look them up.
//!
//! If rustc does not find a name, it offers a similar name in its place, and the place would be the whole
//! literal. So a name that can only be a parameter is looked up here.

use proc_macro2::Span;
use syn::Ident;
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;

use crate::suggest::{listed, nearest};

/// The names with which a placeholder can begin.
pub(crate) struct Names {
    pub parameters: Vec<Ident>,
    /// The words in the statements before a returned future. The variables are among them.
    pub locals: Vec<Ident>,
}

impl Names {
    /// The variable, constant or static with which a path of fields begins, or whose value is a part, as an
    /// identifier for the literal at `span`.
    ///
    /// # Errors
    /// If there is no parameter of that name, and it can be nothing else.
    pub(crate) fn resolve(&self, root: &str, is_path: bool, span: Span) -> Result<Ident, String> {
        let found = self.variable(root, span).or_else(|| {
            let is_item = is_spelt_as_constant(root) || !is_path && !self.is_refused(root);
            is_item.then(|| identifier(root, span)).flatten()
        });
        found.ok_or_else(|| self.unknown(root))
    }

    /// Checks a plain placeholder in a literal that is replaced. `format_args!` looks the name up.
    ///
    /// # Errors
    /// If there is no parameter of that name, and rustc's error would be misleading.
    pub(crate) fn check_plain(&self, root: &str, span: Span) -> Result<(), String> {
        let root = root.strip_prefix("r#").unwrap_or(root);
        let is_name = Ident::parse_any.parse_str(root).is_ok();
        if is_name
            && !is_spelt_as_constant(root)
            && self.variable(root, span).is_none()
            && self.is_refused(root)
        {
            return Err(self.unknown(root));
        }
        Ok(())
    }

    /// True if a name that is no variable is more likely a mistake than a constant in small letters: a
    /// parameter has a similar name, or rustc would offer a field of `self`.
    fn is_refused(&self, root: &str) -> bool {
        let parameters: Vec<String> = self.parameters.iter().map(plain).collect();
        let similar = nearest(root, parameters.iter().map(String::as_str));
        similar.is_some() || parameters.iter().any(|name| name == "self")
    }

    fn variable(&self, root: &str, span: Span) -> Option<Ident> {
        let is_root = |name: &&Ident| plain(name) == root;
        let mut named_so = self.parameters.iter().filter(is_root);
        let parameter = named_so.next();
        let mut known = parameter
            .or_else(|| self.locals.iter().find(is_root))?
            .clone();
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

    fn unknown(&self, root: &str) -> String {
        let names: Vec<String> = self
            .parameters
            .iter()
            .map(plain)
            .filter(|name| !name.starts_with("__"))
            .collect();
        let known = || names.iter().map(String::as_str);
        if names.is_empty() {
            format!("unknown parameter `{root}`; the function has none")
        } else if let Some(near) = nearest(root, known()) {
            format!("unknown parameter `{root}`; did you mean `{near}`?")
        } else {
            format!("unknown parameter `{root}`; available: {}", listed(known()))
        }
    }
}

/// A parameter's name as a template contains it: `type` for `r#type`.
fn plain(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

/// True for the spelling of constants and statics. rustc knows whether there is one of that name.
fn is_spelt_as_constant(root: &str) -> bool {
    root != "Self" && root.starts_with(char::is_uppercase) && !root.contains(char::is_lowercase)
}

/// A name as an identifier, also if it is a keyword. `gen` is one since edition 2024, which `syn` does not know.
pub(crate) fn identifier(name: &str, span: Span) -> Option<Ident> {
    let raw = || syn::parse_str::<Ident>(&format!("r#{name}"));
    let mut identifier = match name {
        "gen" => raw(),
        _ => syn::parse_str(name).or_else(|_| raw()),
    }
    .ok()?;
    identifier.set_span(span);
    Some(identifier)
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::Names;

    fn names(parameters: &[&str]) -> Names {
        let parse = |name: &&str| match *name {
            "self" => syn::Ident::new("self", Span::call_site()),
            name => syn::parse_str(name).expect(name),
        };
        Names {
            parameters: parameters.iter().map(parse).collect(),
            locals: vec![syn::parse_str("local").expect("a name")],
        }
    }

    #[test]
    fn what_can_only_be_a_parameter_is_refused_if_it_is_none() {
        let here = Span::call_site();
        // The parameters, the name, and whether it is known: as the beginning of a path, as a part, and as
        // a plain placeholder.
        let table: [(&[&str], &str, [bool; 3]); 10] = [
            (&["title"], "title", [true, true, true]),
            (&["title"], "local", [true, true, true]),
            (&["title"], "titel", [false, false, false]),
            (&["title"], "tenant", [false, true, true]),
            (&["title"], "TENANT", [true, true, true]),
            (&["title"], "TITLE", [true, true, true]),
            (&["self"], "tenant", [false, false, false]),
            (&["self"], "TENANT", [true, true, true]),
            (&[], "Self", [false, false, true]),
            (&["r#type"], "type", [true, true, true]),
        ];
        for (parameters, name, expected) in table {
            let names = names(parameters);
            let known = [
                names.resolve(name, true, here).is_ok(),
                names.resolve(name, false, here).is_ok(),
                names.check_plain(name, here).is_ok(),
            ];
            assert_eq!(known, expected, "{name} beside {parameters:?}");
        }
    }
}
