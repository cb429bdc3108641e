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
        let turn = shared.state.lock().turn.take();
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
    ///
    /// ```
    /// use std::sync::{Arc, OnceLock, Weak};
    /// use std::time::Duration;
    /// use redlock_core::lease::ObserveDowngrade;
    /// use redlock_core::request::Kind;
    /// # use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
    ///
    /// #[derive(Default)]
    /// struct Wrote(OnceLock<Duration>);
    /// impl ObserveDowngrade for Wrote {
    ///     fn downgraded(&self, held_for: Duration) {
    ///         self.0.get_or_init(|| held_for);
    ///     }
    /// }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let io = IoThread::start()?;
    /// # let environment = io.environment();
    /// # let node = MemoryNode::new("a", environment.clock.clone());
    /// # let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
    /// # let client = Client::new(environment);
    /// # io.handle().block_on(async {
    /// let lease = client.acquire(&nodes, &Request::new("report").kind(Kind::Write)).await?;
    /// let wrote = Arc::new(Wrote::default());
    /// let observer: Weak<Wrote> = Arc::downgrade(&wrote);
    /// lease.observe_downgrade(observer);
    /// assert_eq!(wrote.0.get(), None);
    /// lease.downgrade().await?;
    /// assert!(wrote.0.get().is_some());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok(())
    /// # }
    /// ```
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
