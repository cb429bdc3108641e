//! Notes: a holder's short texts, for people who look at its lock.

use std::fmt;
use std::sync::Arc;

use super::resource::write_escaped;

/// The longest note, in bytes.
pub const MAX_NOTE_BYTES: usize = 256;

/// A short text that a lock's holder leaves for people, such as the job's name. Refusals of other callers and
/// [`Client::peek`](crate::Client::peek) show it.
///
/// The note follows the owner token in the value of the lock's keys. Do not put a secret in it, because everybody who
/// may read the nodes can read it. No decision depends on a note.
///
/// `Display` escapes control characters and backticks.
///
/// ```
/// use redlock_core::request::Note;
///
/// let note = Note::new("job 42").expect("not empty");
/// assert_eq!(note.as_str(), "job 42");
/// assert_eq!(Note::new(""), None);
/// assert_eq!(Note::new("two\nlines").expect("not empty").to_string(), "two\\u{a}lines");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Note(Arc<str>);

impl Note {
    /// Returns the note with this text, or `None` if the text is empty. A text longer than [`MAX_NOTE_BYTES`] is cut
    /// and gets a `…`, because a long note should not keep a caller from its lock.
    pub fn new(text: impl AsRef<str>) -> Option<Self> {
        let text = text.as_ref();
        if text.len() > MAX_NOTE_BYTES {
            let most = MAX_NOTE_BYTES - '…'.len_utf8();
            let end = (0..=most).rev().find(|at| text.is_char_boundary(*at))?;
            return Some(Self(format!("{}…", &text[..end]).into()));
        }
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// Returns the text as the holder wrote it. The text may contain control characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, self.as_str().as_bytes(), MAX_NOTE_BYTES)
    }
}

impl fmt::Debug for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Note({:?})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_cut_at_256_bytes_and_between_characters() {
        for (text, kept) in [
            ("x".repeat(256), "x".repeat(256)),
            ("x".repeat(257), format!("{}…", "x".repeat(253))),
            ("é".repeat(128), "é".repeat(128)),
            ("é".repeat(129), format!("{}…", "é".repeat(126))),
        ] {
            let note = Note::new(&text).unwrap();
            assert_eq!(note.as_str(), kept);
            assert!(note.as_str().len() <= MAX_NOTE_BYTES);
        }
    }

    #[test]
    fn a_note_is_shown_on_one_line() {
        let note = Note::new("a\n\u{1b}[31m`b`").unwrap();
        assert_eq!(note.to_string(), "a\\u{a}\\u{1b}[31m\\u{60}b\\u{60}");
        assert_eq!(note.as_str(), "a\n\u{1b}[31m`b`");
    }
}
