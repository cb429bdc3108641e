//! Who is on the keys of a lock, as a node answers a forced release.

use std::collections::BTreeSet;

use crate::model::resource::{INTENTS, RESERVED_PREFIX};

use super::{Answer, Holding};

/// The owner tokens on the keys of a lock. The text has one in a line: `h` and a holder's, a permit's or a reader's
/// token, or `w` and the id of a writer that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// Those that hold the lock.
    pub holding: BTreeSet<Box<[u8]>>,
    /// The writer that waits.
    pub waiting: BTreeSet<Box<[u8]>>,
}

impl Holders {
    /// What a node answered.
    pub fn of(answer: &Answer) -> Self {
        let mut found = Self::default();
        let Answer::Held(Holding {
            value: Some(text), ..
        }) = answer
        else {
            return found;
        };
        for line in text.split(|byte| *byte == b'\n') {
            match line.split_first() {
                Some((b'h', token)) => found.holding.insert(token.into()),
                Some((b'w', token)) => found.waiting.insert(token.into()),
                _ => false,
            };
        }
        found
    }

    /// The answer with these.
    pub fn answer(&self) -> Answer {
        let lines = [(b'h', &self.holding), (b'w', &self.waiting)];
        let lines = lines.into_iter().flat_map(|(letter, tokens)| {
            let token = tokens.iter().map(|token| &**token);
            token.map(move |token: &[u8]| [&[letter], token].concat())
        });
        let lines: Vec<_> = lines.collect();
        Self::answered(&lines.join(&b'\n'))
    }

    /// The answer that a server's text is.
    pub(crate) fn answered(text: &[u8]) -> Answer {
        if text.is_empty() {
            return Answer::Absent;
        }
        Answer::Held(Holding {
            value: Some(text.into()),
            ..Holding::default()
        })
    }

    /// True if `key` is that of a writer that waits.
    pub(crate) fn is_waiting(key: &[u8]) -> bool {
        let beginning = [RESERVED_PREFIX, INTENTS].concat();
        key.windows(beginning.len()).any(|part| part == beginning)
    }
}
