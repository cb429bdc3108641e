//! The tokens of the locks that the operations in flight end.

use std::collections::HashSet;

use crate::model::token::OwnerToken;
use crate::node::Call;

use super::super::inbox::Owed;
use super::Purpose;

/// The tokens of the locks that operations in progress end. Some of these operations may have been answered
/// since. The set is made when a script turns out to be forgotten, and kept for as many answers as were
/// missing then: a server that forgot its scripts under load costs two lookups for each operation.
pub(super) struct Overtaken {
    tokens: HashSet<OwnerToken>,
    answers_left: usize,
}

impl Overtaken {
    pub(super) fn of<'p>(under_way: impl ExactSizeIterator<Item = &'p Purpose>) -> Self {
        let mut overtaken = Self {
            tokens: HashSet::new(),
            answers_left: under_way.len(),
        };
        under_way.for_each(|purpose| overtaken.sent(purpose));
        overtaken
    }

    /// Adds an operation that is sent.
    pub(super) fn sent(&mut self, purpose: &Purpose) {
        match purpose {
            Purpose::Call { call, .. } | Purpose::Owed(Owed { call, .. }) => {
                self.add(call);
            }
            Purpose::Joined(joined) => joined.iter().for_each(|it| self.add(&it.call)),
            _ => {}
        }
    }

    fn add(&mut self, call: &Call) {
        if call.is_release() {
            self.tokens.extend(call.token().cloned());
        }
    }

    /// Call it after each answer. True if the set is to be dropped, and made again when it is needed.
    pub(super) fn is_spent(&mut self) -> bool {
        let left = self.answers_left.checked_sub(1);
        self.answers_left = left.unwrap_or(0);
        left.is_none()
    }

    pub(super) fn contains(&self, token: &OwnerToken) -> bool {
        self.tokens.contains(token)
    }

    #[cfg(test)]
    pub(super) fn answers_left(&self) -> usize {
        self.answers_left
    }
}
