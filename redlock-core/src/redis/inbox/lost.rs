//! Acquisitions without an answer, and other calls that set keys.

use std::collections::HashSet;

use parking_lot::Mutex;

use crate::model::token::OwnerToken;
use crate::node::{Call, Effect};

/// Four times as many as one connection can have in flight. An acquisition that is never released stays in the set, so
/// a full set is emptied.
const MOST: usize = 65_536;

/// The owners of acquisitions that lost their answer with their connection. If the server stands still, the acquisition
/// may lie in an old socket and come later than its release.
#[derive(Default)]
pub(in crate::redis) struct LostAcquisitions(Mutex<HashSet<OwnerToken>>);

impl LostAcquisitions {
    /// Remembers the acquisitions among these calls.
    pub(in crate::redis) fn add<'a>(&self, calls: impl Iterator<Item = &'a Call>) {
        let takes = calls.filter(|call| matches!(call.effect(), Effect::Takes | Effect::PutsBack));
        let mut tokens = self.0.lock();
        for token in takes.filter_map(Call::token) {
            if tokens.len() == MOST {
                tokens.clear();
            }
            tokens.insert(token.clone());
        }
    }

    pub(in crate::redis) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// True if the acquisition that `release` undoes is among them.
    pub(in crate::redis) fn has_that_of(&self, release: &Call) -> bool {
        let tokens = self.0.lock();
        release.token().is_some_and(|token| tokens.contains(token))
    }

    /// Forgets the acquisition of `release`: it is undone, or its ttl has passed.
    pub(in crate::redis) fn forget_that_of(&self, release: &Call) {
        if let Some(token) = release.token() {
            self.0.lock().remove(token);
        }
    }
}
