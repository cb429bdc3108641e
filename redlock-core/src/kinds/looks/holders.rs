//! Who is on the keys of a lock, as a node answers a forced release.

use std::collections::BTreeSet;

use crate::node::{Holding, Vote};

/// The owner tokens on the keys of a lock. The text has one in a line: `h` and a holder's, a permit's or a reader's
/// token, or `w` and the id of a writer that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holders {
    /// Those that hold the lock.
    pub(crate) holding: BTreeSet<Box<[u8]>>,
    /// The writer that waits.
    pub(crate) waiting: BTreeSet<Box<[u8]>>,
}

impl Holders {
    /// What a node answered.
    pub(crate) fn of(answer: &Vote) -> Self {
        let mut found = Self::default();
        let Vote::Held(Holding {
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

    /// The answer that a server's text is.
    pub(crate) fn answered(text: &[u8]) -> Vote {
        if text.is_empty() {
            return Vote::Absent;
        }
        Vote::Held(Holding {
            value: Some(text.into()),
            ..Holding::default()
        })
    }
}
