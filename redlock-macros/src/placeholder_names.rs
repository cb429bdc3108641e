//! Looks up the names with which the placeholders of a template begin.
//!
//! `format_args!` looks up the remaining names. If rustc does not find a name, it suggests a similar one,
//! which would replace the whole literal. So this module looks up each name that can only be a parameter.

use proc_macro2::{Span, TokenStream};
use syn::Ident;
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;

use crate::errors::{listed, nearest};
use crate::item_check::mentions;

/// The names with which a placeholder can begin.
pub(crate) struct Names {
    pub parameters: Vec<Ident>,
    /// True if the attribute has errors. rustc then sees no template, so this module looks up all names.
    pub has_errors: bool,
    /// The statements before a returned future. They may define variables that a placeholder names.
    pub statements: TokenStream,
}

impl Names {
    /// Returns `name` as an identifier that resolves at `span`, or `None` if `name` is not an identifier.
    /// The identifier means a parameter, a variable, a constant or a static.
    ///
    /// # Errors
    /// Returns a message for an unknown name if fields follow it (`is_path`), or if rustc would report nothing, or
    /// would suggest a similar parameter or a field of `self`. rustc decides about a name that is spelt as a constant
    /// or that occurs in the statements.
    pub(crate) fn resolve(
        &self,
        name: &str,
        is_path: bool,
        span: Span,
    ) -> Result<Option<Ident>, String> {
        let parameter = self.parameters.iter().find(|it| it.unraw() == name);
        if let Some(parameter) = parameter {
            let mut parameter = parameter.clone();
            // Reuse the parameter's own token, which resolves as the parameter does, but point errors at the literal.
            // `self` is a keyword with hygiene, so only the receiver's own token resolves.
            parameter.set_span(span.resolved_at(parameter.span()));
            return Ok(Some(parameter));
        }
        // Leave constants to rustc, which knows all of them.
        let is_spelt_as_constant =
            name.starts_with(char::is_uppercase) && !name.contains(char::is_lowercase);
        let names = self.parameters.iter().map(|it| it.unraw().to_string());
        let names: Vec<String> = names.filter(|it| !it.starts_with("__")).collect();
        let known = || names.iter().map(String::as_str);
        let near = nearest(name, known());
        if is_spelt_as_constant
            || mentions(self.statements.clone(), name)
            || Ident::parse_any.parse_str(name).is_err()
            || !(is_path || near.is_some() || self.has_errors || known().any(|it| it == "self"))
        {
            return Ok(identifier(name, span));
        }
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "the function has none".to_owned(),
            None => format!("available: {}", listed(known())),
        };
        Err(format!("unknown parameter `{name}`; {hint}"))
    }
}

/// Returns a word as an identifier, which is raw if the word is a keyword.
/// `syn` does not know that edition 2024 makes a keyword of `gen`.
pub(crate) fn identifier(word: &str, span: Span) -> Option<Ident> {
    // Refuse other text here, because parsing it would make rustc's lexer report an error of its own.
    if !word.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let raw = || syn::parse_str::<Ident>(&format!("r#{word}"));
    let identifier = match word {
        "gen" => raw(),
        _ => syn::parse_str(word).or_else(|_| raw()),
    };
    let mut identifier = identifier.ok()?;
    identifier.set_span(span);
    Some(identifier)
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::Names;

    #[test]
    fn what_can_only_be_a_parameter_is_refused_if_it_is_none() {
        // The columns: parameters, a placeholder's name, and if it resolves with a field (`{a.b}`) and alone (`{a}`).
        let table: [(&[&str], &str, [bool; 2]); 9] = [
            (&["title"], "title", [true, true]),
            (&["title"], "local", [true, true]),
            (&["title"], "titel", [false, false]),
            (&["title"], "tenant", [false, true]),
            (&["title"], "TENANT", [true, true]),
            (&["self"], "tenant", [false, false]),
            (&["self"], "TENANT", [true, true]),
            (&[], "Self", [false, true]),
            (&["r#type"], "type", [true, true]),
        ];
        for (parameters, name, expected) in table {
            let parse = |name: &&str| match *name {
                "self" => syn::Ident::new("self", Span::call_site()),
                name => syn::parse_str(name).expect(name),
            };
            let names = Names {
                parameters: parameters.iter().map(parse).collect(),
                has_errors: false,
                statements: quote::quote!(let local = 1;),
            };
            let known = [true, false]
                .map(|is_path| names.resolve(name, is_path, Span::call_site()).is_ok());
            assert_eq!(known, expected, "{name} beside {parameters:?}");
        }
    }
}
