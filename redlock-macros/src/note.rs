//! The `note` parameter: a template as `resource` is one, or an expression that can be shown.

use syn::{Expr, Lit};

use crate::errors::Errors;
use crate::names::Names;
use crate::parameters::Key;
use crate::plan::Note;
use crate::resource::template;
use crate::value::literal;

/// Checks the note.
pub(crate) fn check(value: &Expr, names: &Names, errors: &mut Errors) -> Option<Note> {
    match literal(value) {
        Some(Lit::Str(written)) => template(Key::Note, written, names, errors).map(Note::Template),
        Some(_) => {
            let example = Key::Note.example();
            errors.under(
                value,
                format!("`note` takes a template or an expression; write `{example}`"),
            );
            None
        }
        None => Some(Note::Expression(value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use quote::format_ident;

    use super::check;
    use crate::errors::Errors;
    use crate::names::Names;
    use crate::plan::Note;

    fn checked(value: &str) -> (Option<Note>, Vec<String>) {
        let names = Names {
            parameters: vec![format_ident!("id"), format_ident!("job")],
            locals: Vec::new(),
        };
        let mut errors = Errors::default();
        let value = syn::parse_str(value).expect(value);
        let note = check(&value, &names, &mut errors);
        (
            note,
            errors.messages().iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn a_note_is_a_template_or_an_expression() {
        for template in [r#""nightly""#, r#""job {id}""#, r#""{job.name} {id:08}""#] {
            let (note, errors) = checked(template);
            assert!(
                matches!(note, Some(Note::Template(_))),
                "{template}: {errors:?}"
            );
        }
        for expression in ["job.name()", "format!(\"{id}\")", "NIGHTLY"] {
            let (note, errors) = checked(expression);
            assert!(
                matches!(note, Some(Note::Expression(_))),
                "{expression}: {errors:?}"
            );
        }
    }

    #[test]
    fn what_is_no_note_is_refused_with_the_fix() {
        let long = format!("{:?}", "x".repeat(257));
        for (value, expected) in [
            (r#""""#, "`note` must not be empty; leave it out"),
            (
                &*long,
                "`note` must not be longer than 256 bytes; this one has 257",
            ),
            (
                "7",
                "`note` takes a template or an expression; write `note = \"job {id}\"`",
            ),
            (
                r#""job {}""#,
                "`{}` in `note` has no name; use a named placeholder such as `{id}`",
            ),
            (
                r#""job {""#,
                "unmatched `{` in `note`; write `{{` for the brace itself",
            ),
            (
                r#""job {task.id}""#,
                "unknown parameter `task`; available: `id`, `job`",
            ),
        ] {
            let (note, errors) = checked(value);
            assert!(note.is_none(), "{value}");
            assert_eq!(errors, [expected], "{value}");
        }
    }
}
