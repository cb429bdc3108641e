//! Owner tokens: random values that show whose a key is.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::env::Entropy;

use super::note::{MAX_NOTE_BYTES, Note};

/// The random bytes in a token. The specification asks for a value that is unique across all clients and all lock
/// requests. 128 bits also make it impossible to guess, because a client that knows the token can release the lock.
const RANDOM_BYTES: usize = 16;

/// The length of the longest token before its note. A host has up to 255 bytes, and a process up to ten digits.
const LONGEST_BARE: usize = 255 + 1 + 10 + 1 + 2 * RANDOM_BYTES;

/// The length of the longest token that names its owner.
pub(crate) const LONGEST_TOKEN: usize = LONGEST_BARE + 1 + MAX_NOTE_BYTES;

/// The value of a lock's keys: `host/pid/`, 128 random bits in hex, and a note. The holder's [`Note`] follows a space,
/// if there is one. Each attempt draws a new token.
///
/// A token is the right to release the lock. `Debug` shows only the [`short_id`](Self::short_id).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OwnerToken(Arc<[u8]>);

impl OwnerToken {
    /// Draws a fresh token of `owner`. The owner is a `host/pid`, so that a refused caller learns who holds the lock.
    pub fn draw(owner: &str, entropy: &dyn Entropy) -> Self {
        let mut random = [0; RANDOM_BYTES];
        entropy.fill(&mut random);
        let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
        let digits = random.map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        let mut bytes = SmallVec::<[u8; 64]>::from_slice(owner.as_bytes());
        bytes.push(b'/');
        bytes.extend_from_slice(digits.as_flattened());
        Self(bytes.as_slice().into())
    }

    /// Returns the same token with the holder's note after it.
    #[must_use]
    pub fn noted(&self, note: &Note) -> Self {
        Self(
            [self.as_bytes(), b" ", note.as_str().as_bytes()]
                .concat()
                .into(),
        )
    }

    /// Returns the whole token, as the nodes store it. Keep the token out of logs.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the first six hex digits of the random part. Six digits are enough to tell two tokens apart in a log,
    /// and too few to guess the rest.
    pub fn short_id(&self) -> &str {
        parts_of(&self.0).map_or("", |parts| &parts.random[..6])
    }

    /// True if the token has exactly this `note`, or neither has one.
    pub(crate) fn has_note(&self, note: Option<&Note>) -> bool {
        let own = parts_of(&self.0).and_then(|parts| parts.note);
        own == note.map(Note::as_str)
    }
}

impl fmt::Debug for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerToken({}…)", self.short_id())
    }
}

/// The parts of a value that has this library's format.
struct Parts<'a> {
    /// `host/pid`.
    owner: &'a str,
    random: &'a str,
    note: Option<&'a str>,
}

/// Returns the parts of a token, or `None` for a value of another format.
fn parts_of(token: &[u8]) -> Option<Parts<'_>> {
    const DIGITS: usize = 2 * RANDOM_BYTES;
    if token.len() > LONGEST_TOKEN {
        return None;
    }
    let text = std::str::from_utf8(token).ok()?;
    // The random part follows the first slash with this number of digits after it. An owner has no such slash, but a
    // note may.
    let mut slashes = text.match_indices('/');
    let (owner, random, note) = slashes.find_map(|(at, _)| {
        let (random, rest) = text[at + 1..].split_at_checked(DIGITS)?;
        let note = match rest.split_at_checked(1) {
            None => None,
            Some((" ", note)) => Some(note),
            Some(_) => return None,
        };
        let is_random = random.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_random.then_some((&text[..at], random, note))
    })?;
    let (host, pid) = owner.rsplit_once('/')?;
    let is_ours = !host.is_empty()
        && host.len() <= 255
        && !host.chars().any(char::is_control)
        && pid.parse::<u32>().is_ok()
        && note.is_none_or(|note| (1..=MAX_NOTE_BYTES).contains(&note.len()));
    is_ours.then_some(Parts {
        owner,
        random,
        note,
    })
}

/// Returns the `host/pid` in a token, or `None` if the value has another client's format.
pub(crate) fn owner_of(token: &[u8]) -> Option<&str> {
    parts_of(token).map(|parts| parts.owner)
}

/// The identity of a process, by the owner that its tokens name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerId(u64);

impl OwnerId {
    /// Returns the identity of an `owner`, which is a `host/pid`.
    pub(crate) fn of(owner: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        owner.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Returns the identity of the owner that a token names, if it names one.
    pub(crate) fn of_token(token: &[u8]) -> Option<Self> {
        owner_of(token).map(Self::of)
    }
}

/// Returns the holder's note in a token, if there is one.
pub(crate) fn note_of(token: &[u8]) -> Option<Note> {
    parts_of(token)?.note.and_then(Note::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> OwnerToken {
        let io = crate::IoThread::start().unwrap();
        OwnerToken::draw("web-7/3121", &*io.environment().entropy)
    }

    #[test]
    fn a_token_names_its_owner_and_no_two_are_equal() {
        let (one, two) = (fresh(), fresh());
        assert_ne!(one, two);
        assert_eq!(owner_of(one.as_bytes()), Some("web-7/3121"));
    }

    #[test]
    fn debug_shows_no_more_than_the_short_id() {
        let token = fresh();
        let whole = std::str::from_utf8(token.as_bytes()).unwrap();
        let random = whole.rsplit('/').next().unwrap();
        let shown = format!("{token:?}");
        let is_short = shown.contains(&random[..6]) && !shown.contains(&random[..7]);
        assert!(is_short, "{shown}");
    }

    #[test]
    fn another_clients_value_names_nobody() {
        for foreign in [
            &b"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"[..],
            b"",
            b"a/b/c",
            b"host/12/short",
            b"host/pid/00112233445566778899aabbccddeeff",
            b"/12/00112233445566778899aabbccddeeff",
            b"\xff\xfe/12/00112233445566778899aabbccddeeff",
            b"ho\nst/12/00112233445566778899aabbccddeeff",
            b"host/12/00112233445566778899aabbccddeeff0",
            b"host/12/00112233445566778899aabbccddeeff\n",
            b"host/12/00112233445566778899aabbccddeeff ",
            b"host/12/00112233445566778899aabbccddeeff \xff",
        ] {
            assert_eq!(owner_of(foreign), None, "{}", foreign.escape_ascii());
        }
    }

    #[test]
    fn a_note_follows_the_token_and_changes_nothing_else() {
        let token = fresh();
        assert_eq!(note_of(token.as_bytes()), None);
        for text in [
            "job 42",
            " ",
            "a/1/00112233445566778899aabbccddeeff",
            "a/1/00112233445566778899aabbccddeeff x",
            &"x".repeat(256),
        ] {
            let note = Note::new(text).unwrap();
            let noted = token.noted(&note);
            assert_eq!(owner_of(noted.as_bytes()), Some("web-7/3121"), "{text}");
            assert_eq!(note_of(noted.as_bytes()).as_ref(), Some(&note));
            assert_eq!(noted.short_id(), token.short_id());
            assert!(noted.has_note(Some(&note)) && !noted.has_note(None));
            assert!(noted.as_bytes().starts_with(token.as_bytes()));
        }
        assert!(token.has_note(None) && !token.has_note(Note::new("x").as_ref()));
        let too_long = [token.as_bytes(), b" ", "x".repeat(257).as_bytes()].concat();
        assert_eq!(owner_of(&too_long), None);
    }
}
