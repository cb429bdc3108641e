//! The claim of a reader or a writer: what its operations have besides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::model::kind::Kind;
use crate::model::token::OwnerToken;
use crate::node::operation::Want;
use crate::node::sharing::{Sharing, SharingKeys};

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

/// The same once its acquisition was sent.
pub(super) struct SharedClaim {
    attempt: SharedAttempt,
    /// True once the attempt has won. Its release ends the wait of the writer at all nodes; that of an
    /// attempt that failed leaves the place in line to the next attempt.
    is_lease: AtomicBool,
}

impl SharedClaim {
    pub(super) fn new(attempt: SharedAttempt) -> Self {
        Self {
            attempt,
            is_lease: AtomicBool::new(false),
        }
    }

    /// What an operation has besides. A writer's key is like that of any lock, except for the advice that its
    /// acquisition and its last release leave.
    pub(super) fn part_of(&self, want: Want) -> Option<Sharing> {
        let attempt = &self.attempt;
        let sharing = Sharing::new(Arc::clone(&attempt.keys), attempt.kind);
        let is_lease = self.is_lease.load(Ordering::Acquire);
        match want {
            Want::Acquire { .. } => Some(
                sharing
                    .intent(attempt.intent.clone())
                    .advice(attempt.advice),
            ),
            Want::Release { .. } if is_lease => Some(
                sharing
                    .intent(attempt.intent.clone())
                    .last(attempt.kind == Kind::Write),
            ),
            _ => (attempt.kind == Kind::Read).then_some(sharing),
        }
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

    /// Records that the attempt has won.
    pub(crate) fn has_won(&self) {
        if let Some(shared) = self.shared() {
            shared.has_won();
        }
    }
}
