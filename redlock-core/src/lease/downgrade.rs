//! A writer becomes a reader.

use std::sync::Weak;

use crate::env::caught::caught;
use crate::error::{ExtendError, NodeReport, Unavailable};
use crate::model::invalid::Invalid;
use crate::node::Answer;
use crate::quorum::majority;

use super::{LeaseHandle, ObserveDowngrade};

impl LeaseHandle {
    /// Makes the lease of a writer that of a reader, without a moment in which another writer could have
    /// the lock: readers of other processes go in, and readers that were refused go first. The validity,
    /// the renewal and the fencing token stay.
    ///
    /// The holder counts as a reader from the call on, whatever the nodes answer. A node that does not
    /// hear of it keeps readers out until the next extension, or until the release.
    ///
    /// # Errors
    /// [`ExtendError::Invalid`] if the lease is not a writer's. [`ExtendError::Ended`] if it is over.
    /// [`ExtendError::Unavailable`] if no majority answered in time: the holder is a reader, and
    /// nodes that did not hear of it still keep other readers out.
    ///
    /// # Cancellation
    /// The nodes are told at the first poll. A later drop only ends the waiting.
    pub async fn downgrade(&self) -> Result<(), ExtendError> {
        let shared = &self.shared;
        if let Some(over) = self.over() {
            return Err(ExtendError::Ended(over));
        }
        let began = shared.now();
        let Some(round) = shared.claim.downgrade() else {
            return Err(ExtendError::Invalid(Invalid::new(
                "only a writer becomes a reader: acquire the lock with `mode = \"write\"` to \
                 downgrade it",
            )));
        };
        // A writer that stands in line asks the nodes from now on, which then tell readers that it waits.
        let turn = {
            let mut state = shared.state.lock();
            shared.turn(&mut state)
        };
        drop(turn);
        for observer in shared.claim.take_observers() {
            self.tell_of_downgrade(&observer);
        }
        let timeout = shared.context().node_timeout;
        round.settle(shared.clock(), timeout).await;
        let answers = round.answers_now(&shared.claim.nodes);
        let is_granted = |answer: &&Option<Answer>| matches!(answer, Some(Answer::Granted { .. }));
        let granted = answers.iter().filter(is_granted).count();
        let needed = majority(answers.len());
        if granted >= needed {
            return Ok(());
        }
        let elapsed = shared.now().saturating_since(began);
        let names = shared.claim.nodes.iter().map(|node| node.name());
        Err(ExtendError::Unavailable(Unavailable {
            granted,
            needed,
            nodes: NodeReport::of_round(names, answers, elapsed, timeout),
            too_late: None,
            attempts: 1,
            waited: elapsed,
        }))
    }

    /// Tells `observer` once the lease of a writer becomes a reader's; at once if it has become one. It has no
    /// effect on other leases.
    pub fn observe_downgrade(&self, observer: Weak<dyn ObserveDowngrade>) {
        if let Some(observer) = self.shared.claim.observe_downgrade(observer) {
            self.tell_of_downgrade(&observer);
        }
    }

    fn tell_of_downgrade(&self, observer: &Weak<dyn ObserveDowngrade>) {
        if let Some(observer) = observer.upgrade() {
            let held_for = self.held_for();
            caught("an observer of downgrades", || {
                observer.downgraded(held_for);
            });
        }
    }
}
