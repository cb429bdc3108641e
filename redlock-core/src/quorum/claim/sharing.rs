//! The claim of a reader or a writer: what its operations have besides.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::model::kind::Kind;
use crate::model::token::OwnerToken;
use crate::node::operation::Want;
use crate::node::sharing::{Sharing, SharingKeys};
use crate::quorum::round::{Goal, Round};

use super::{Claim, Special};

/// One attempt of a reader or a writer.
#[derive(Clone, Debug)]
pub(crate) struct SharedAttempt {
    pub(crate) keys: Arc<SharingKeys>,
    pub(crate) kind: Kind,
    /// The id under which a writer waits.
    pub(crate) intent: Option<OwnerToken>,
    /// For how long nodes remember a refusal; zero if no attempt follows.
    pub(crate) advice: Duration,
}

/// Is told when a writer becomes a reader. See
/// [`LeaseHandle::observe_downgrade`](crate::LeaseHandle::observe_downgrade).
pub trait ObserveDowngrade: Send + Sync {
    /// The lease is a reader's from now on. It was held for `held_for` until then. Must not block.
    fn downgraded(&self, held_for: Duration);
}

/// The same once its acquisition was sent.
pub(super) struct SharedClaim {
    attempt: SharedAttempt,
    /// True from the sending of the first message that makes the writer a reader.
    is_reading: AtomicBool,
    /// True once the attempt has won. Its release ends the wait of the writer at all nodes; that of an
    /// attempt that failed leaves the place in line to the next attempt.
    is_lease: AtomicBool,
    /// Those who are told when the writer becomes a reader.
    observers: Mutex<Vec<Weak<dyn ObserveDowngrade>>>,
}

impl SharedClaim {
    pub(super) fn new(attempt: SharedAttempt) -> Self {
        Self {
            is_reading: AtomicBool::new(attempt.kind == Kind::Read),
            attempt,
            is_lease: AtomicBool::new(false),
            observers: Mutex::default(),
        }
    }

    /// What an operation has besides.
    pub(super) fn part_of(&self, want: Want) -> Sharing {
        let attempt = &self.attempt;
        let sharing = Sharing::new(Arc::clone(&attempt.keys), self.kind());
        let is_lease = self.is_lease.load(Ordering::Acquire);
        match want {
            Want::Acquire { .. } => sharing
                .intent(attempt.intent.clone())
                .advice(attempt.advice),
            Want::Release { .. } if is_lease => sharing
                .intent(attempt.intent.clone())
                .last(attempt.kind == Kind::Write),
            Want::Downgrade => sharing.last(true),
            _ => sharing,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        if self.is_reading.load(Ordering::Acquire) {
            Kind::Read
        } else {
            self.attempt.kind
        }
    }

    /// True if the claim was a writer's.
    pub(super) fn begin_reading(&self) -> bool {
        !self.is_reading.swap(true, Ordering::AcqRel)
    }

    pub(super) fn has_won(&self) {
        self.is_lease.store(true, Ordering::Release);
    }
}

impl Claim {
    pub(super) fn shared(&self) -> Option<&SharedClaim> {
        match &self.special {
            Some(Special::Shared(shared)) => Some(shared),
            _ => None,
        }
    }

    /// Whom the claim excludes now.
    pub(crate) fn kind(&self) -> Kind {
        self.shared().map_or(Kind::Exclusive, SharedClaim::kind)
    }

    /// Records that the attempt has won.
    pub(crate) fn has_won(&self) {
        if let Some(shared) = self.shared() {
            shared.has_won();
        }
    }

    /// Keeps `observer` until the writer becomes a reader. Returns it if the writer has become one, and
    /// nothing if the claim never was a writer's.
    pub(crate) fn observe_downgrade(
        &self,
        observer: Weak<dyn ObserveDowngrade>,
    ) -> Option<Weak<dyn ObserveDowngrade>> {
        let shared = self.shared()?;
        let mut observers = shared.observers.lock();
        if shared.kind() == Kind::Write {
            // Holders come and go while the lease goes on.
            observers.retain(|observer| observer.strong_count() > 0);
            observers.push(observer);
            return None;
        }
        (shared.attempt.kind == Kind::Write).then_some(observer)
    }

    /// Takes out those who are to be told that the writer has become a reader.
    pub(crate) fn take_observers(&self) -> Vec<Weak<dyn ObserveDowngrade>> {
        let shared = self.shared();
        shared.map_or_else(Vec::new, |it| std::mem::take(&mut *it.observers.lock()))
    }

    /// Makes a writer a reader, from the sending of the first message on. `None` if the claim is not a
    /// writer's.
    pub(crate) fn downgrade(&self) -> Option<Arc<Round>> {
        let is_writer = self.kind() == Kind::Write;
        if !is_writer || !self.shared()?.begin_reading() {
            return None;
        }
        let operation = Arc::new(self.operation(Want::Downgrade));
        Some(Round::start(
            &self.nodes,
            &operation,
            Goal::Majority,
            |_| true,
        ))
    }
}
