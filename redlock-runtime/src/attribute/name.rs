//! The name of a resource, made from a template.

use std::fmt;

use redlock_core::Resource;

/// A resource from a template's pieces.
///
/// # Panics
/// If [`format!`] panics: one of the pieces fails to format.
#[must_use]
pub fn resource(template: fmt::Arguments<'_>) -> Resource {
    if let Some(text) = template.as_str() {
        return text.into();
    }
    let mut name = Name {
        short: [0; SHORT],
        length: 0,
        long: Vec::new(),
    };
    fmt::write(&mut name, template).expect("a formatting trait implementation returned an error");
    name.as_bytes().into()
}

/// Nearly all names are shorter.
const SHORT: usize = 128;

/// A buffer for a name. A short name needs no allocation.
struct Name {
    short: [u8; SHORT],
    /// The number of bytes of `short` in use.
    length: usize,
    /// The whole name, if it is longer than `short`.
    long: Vec<u8>,
}

impl Name {
    fn as_bytes(&self) -> &[u8] {
        if self.long.is_empty() {
            &self.short[..self.length]
        } else {
            &self.long
        }
    }
}

impl fmt::Write for Name {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let end = self.length + piece.len();
        if self.long.is_empty() {
            if let Some(room) = self.short.get_mut(self.length..end) {
                room.copy_from_slice(piece.as_bytes());
                self.length = end;
                return Ok(());
            }
            self.long.extend_from_slice(&self.short[..self.length]);
        }
        self.long.extend_from_slice(piece.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_length_is_what_the_template_says() {
        assert_eq!(resource(format_args!("plain")), "plain".into());
        for length in [0, 1, SHORT - 2, SHORT - 1, SHORT, SHORT + 1, 3 * SHORT] {
            let (id, padding) = ("x".repeat(length), "");
            let expected = format!("{id}{padding}-{id}{padding}");
            assert_eq!(
                resource(format_args!("{id}{padding}-{id}{padding}")),
                expected.into()
            );
        }
    }
}
