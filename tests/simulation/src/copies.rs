//! Processes that are copies of the clients, and draw the same owner tokens.

use std::time::Duration;

use redlock_core::MemoryNode;
use redlock_core::node::{Answer, Operation, Want};
use redlock_core::request::Kind;

use crate::random::Random;

/// The copies that come to one server.
pub(crate) struct Copies {
    pub(crate) random: Random,
    /// How often, in 10 000 acquisitions of a free lock, a copy is quicker.
    pub(crate) chance: u64,
    /// The time from which on no copy comes.
    pub(crate) until: Duration,
}

impl Copies {
    /// A copy may take a free lock just before `operation`, an acquisition, with the same token. True if
    /// it has the lock.
    pub(crate) fn comes_to(
        &mut self,
        memory: &MemoryNode,
        operation: &Operation,
        now: Duration,
    ) -> bool {
        let Want::Acquire { ttl, .. } = operation.want() else {
            return false;
        };
        let mut names = operation.keys().names();
        if names.any(|name| memory.get(name).is_some())
            || now >= self.until
            || !self.random.chance(self.chance)
        {
            return false;
        }
        if operation.sharing().is_some() {
            return shares(memory, operation);
        }
        for name in operation.keys().names() {
            memory.put(name, operation.token().as_bytes(), ttl);
        }
        true
    }
}

/// The copy is a reader or a writer. A reader's lock is an entry. A writer that waits now has come later
/// than the copy.
fn shares(memory: &MemoryNode, operation: &Operation) -> bool {
    let reading = operation.sharing().filter(|it| it.kind() == Kind::Read);
    let intent = reading.map(|sharing| sharing.keys().intent());
    let waiting = intent.and_then(|key| Some((key, memory.get(key)?, memory.remaining(key)?)));
    if let Some((key, ..)) = &waiting {
        memory.delete(key);
    }
    let answer = memory.serve(operation);
    if let Some((key, writer, left)) = &waiting {
        memory.put(key, writer, *left);
    }
    matches!(answer, Answer::Granted { .. })
}
