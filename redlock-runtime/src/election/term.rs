//! Defines a term: one leader's time in office, as its body sees it.

use std::future::Future;
use std::sync::Arc;

use redlock_core::env::{Clock, Moment};
use redlock_core::internal::debug_in_part;
use tokio::sync::SetOnce;

use crate::lease::{Fenced, FencingToken, LeaseHandle};
use crate::registry::Registry;

/// A term of office. The body of [`Election::run`](super::Election::run) gets one each time this process is elected.
///
/// A term can be cloned and passed on. After its end it has no effect. There is no `is_leader()`, because its answer
/// would be out of date when it is used. Instead, a leader calls [`proceed`](Self::proceed) before each step, and sends
/// the [fencing token](Self::fencing_token) with each write. When the office is lost, the leader's body is cut off at
/// its next await.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// let election = redlock_runtime::election("reindex");
/// let led = election.run(async |term| {
///     let mut part = 0;
///     while term.proceed().await {
///         println!("index part {part}, if {} is the highest token so far", term.fencing_token());
///         part += 1;
///         if part == 3 {
///             election.resign();
///         }
///     }
/// });
/// led.await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Term {
    pub(super) shared: Arc<TermShared>,
}

pub(super) struct TermShared {
    pub(super) lease: Fenced<LeaseHandle>,
    /// Set once the candidate has resigned.
    pub(super) candidate_resigned: Arc<SetOnce<()>>,
    pub(super) registry: Registry,
    /// The moment at which `max_term` ends.
    pub(super) until: Option<Moment>,
    pub(super) resigned: SetOnce<()>,
}

impl TermShared {
    fn clock(&self) -> &dyn Clock {
        &*self.registry.shared.environment.clock
    }
}

impl Term {
    /// Returns true if the body may do one more short step. The office is held then.
    ///
    /// Returns false if the body has to return: the lease is about to end, this process shuts down, the term or its
    /// candidate resigned, or `max_term` has passed. In these cases the office is still held. If the office is lost,
    /// the body is cut off in this call. A spawned task is not cut off: there the call returns false.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn proceed(&self) -> bool {
        if self.shared.lease.is_over() {
            // The lease polls the body only while it is valid, so it ends the body at this yield.
            tokio::task::yield_now().await;
            return false;
        }
        // Let other tasks of the thread run, even if the steps of the body never wait.
        tokio::task::consume_budget().await;
        self.reason_to_end().is_none()
    }

    /// Completes when [`proceed`](Self::proceed) would return false. Use it in a leader that waits for other events.
    ///
    /// ```
    /// # use redlock_runtime::election::Term;
    /// # async fn example(term: Term, mut jobs: tokio::sync::mpsc::Receiver<String>) {
    /// loop {
    ///     tokio::select! {
    ///         Some(job) = jobs.recv() => println!("{job}, as leader {}", term.fencing_token()),
    ///         () = term.ending() => break,
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn ending(&self) {
        tokio::select! {
            biased;
            () = self.until_asked_to_end() => {}
            () = self.shared.lease.expiring() => {}
        }
    }

    /// Returns the fencing token of this term, which is higher than that of every earlier term.
    ///
    /// Let the store refuse every token that is smaller than the highest it has seen. Then the store is safe from a
    /// leader that was stopped and has not noticed its successor.
    pub fn fencing_token(&self) -> FencingToken {
        self.shared.lease.fencing_token()
    }

    /// Asks this term to end: from now on, [`proceed`](Self::proceed) returns false. The candidate stands again after
    /// the others have had their chance. Further calls, and calls after the term, have no effect.
    ///
    /// The office is free once the body has returned. If the body continues, it is cut off when the present validity of
    /// the lease has passed.
    pub fn resign(&self) {
        // An error means that the term has resigned before.
        let _ = self.shared.resigned.set(());
    }

    /// Returns the lease of the office, which shows its validity, and when and why it is lost.
    pub fn lease(&self) -> &Fenced<LeaseHandle> {
        &self.shared.lease
    }

    /// Returns the reason why the body has to end. Returns `None` if the body may continue.
    pub(super) fn reason_to_end(&self) -> Option<&'static str> {
        let shared = &*self.shared;
        let has_passed = |until| shared.clock().now() >= until;
        if shared.resigned.initialized() {
            Some("its leader resigned")
        } else if shared.candidate_resigned.initialized() {
            Some("its candidate resigned")
        } else if shared.until.is_some_and(has_passed) {
            Some("`max_term` has passed")
        } else if shared.registry.is_closing() {
            Some("this process shuts down")
        } else {
            let is_expiring = shared.lease.core.is_expiring();
            is_expiring.then_some("its lease was not renewed in time")
        }
    }

    /// Waits until the term or its candidate has resigned, or `max_term` has passed.
    async fn until_asked_to_end(&self) {
        let shared = &*self.shared;
        tokio::select! {
            biased;
            () = shared.resigned.wait() => {}
            () = shared.candidate_resigned.wait() => {}
            () = shared.clock().sleep_until(shared.until.unwrap_or_default()), if shared.until.is_some() => {}
        }
    }

    /// Runs `body` until it returns, or cuts it off and returns `None`. The body is cut off if it was asked to end and
    /// continued for the validity that the lease had then. The body is dropped when this completes.
    pub(super) async fn within<B: Future>(&self, body: B) -> Option<B::Output> {
        let cut_off = async {
            self.until_asked_to_end().await;
            let (clock, lease) = (self.shared.clock(), &self.shared.lease);
            let until = clock.now().saturating_add(lease.validity());
            clock.sleep_until(until).await;
        };
        tokio::select! {
            biased;
            output = body => Some(output),
            () = cut_off => None,
        }
    }
}

debug_in_part!(Term, it => lease: it.shared.lease, reason_to_end: it.reason_to_end());
