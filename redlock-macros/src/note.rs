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
