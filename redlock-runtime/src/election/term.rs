//! Defines a term: one leader's time in office, as its body sees it.

use std::future::Future;
use std::sync::Arc;

use redlock_core::env::{Clock, Moment};
use redlock_core::internal::debug_in_part;
use tokio::sync::SetOnce;

use crate::lease::{Fenced, FencingToken, LeaseHandle};

/// A term of office: the body of [`Election::run`](super::Election::run) gets one each time that this
/// process is elected. It can be cloned and passed on. After the term it has no effect.
///
/// There is no `is_leader()`: its answer would be old when it is used. A leader asks
/// [`proceed`](Self::proceed) before each step, is cut off at its next await when the office is lost, and
/// sends the [fencing token](Self::fencing_token) with what it writes.
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
    /// The candidate has resigned.
    pub(super) candidate_resigned: Arc<SetOnce<()>>,
    pub(super) clock: Arc<dyn Clock>,
    /// The end of `max_term`.
    pub(super) until: Option<Moment>,
    pub(super) resigned: SetOnce<()>,
}

impl Term {
    /// Asks for one more step. True if the office is held, so the body may do a short step. False if the body
    /// has to return, because the lease is about to end, this process shuts down, somebody resigned, or
    /// `max_term` has passed. The office is still held then. A body whose office is lost is cut off here.
    ///
    /// In a spawned task nothing is cut off, and the answer is false.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn proceed(&self) -> bool {
        if self.shared.lease.is_over() {
            // The lease ends the body here, as it polls the body only while it is valid.
            tokio::task::yield_now().await;
            return false;
        }
        // Other tasks of the thread get their turn, even if the body's steps never wait.
        tokio::task::consume_budget().await;
        self.reason_to_end().is_none()
    }

    /// Completes when [`proceed`](Self::proceed) would return false. It is for a leader that waits for other
    /// events meanwhile.
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

    /// Returns the fencing token of this term. It is higher than that of every term before. A store that refuses
    /// smaller tokens than the highest that it has seen is safe from a leader that stood still and does not
    /// know yet that another one leads.
    pub fn fencing_token(&self) -> FencingToken {
        self.shared.lease.fencing_token()
    }

    /// Asks this term to end: [`proceed`](Self::proceed) returns false from here on, and the candidate stands
    /// again once the others had their chance. Further calls, and calls after the term, have no effect.
    ///
    /// The office is free when the body has returned. A body that goes on is cut off when the validity
    /// has passed that the lease has now.
    pub fn resign(&self) {
        // An error only says that somebody called it before.
        let _ = self.shared.resigned.set(());
    }

    /// Returns the lease of the office: for how much longer it is valid, when it is lost and why.
    pub fn lease(&self) -> &Fenced<LeaseHandle> {
        &self.shared.lease
    }

    /// Returns the reason why the body has to end, if there is one.
    pub(super) fn reason_to_end(&self) -> Option<&'static str> {
        let shared = &*self.shared;
        let has_passed = |until| shared.clock.now() >= until;
        if shared.resigned.initialized() {
            Some("its leader resigned")
        } else if shared.candidate_resigned.initialized() {
            Some("its candidate resigned")
        } else if shared.until.is_some_and(has_passed) {
            Some("`max_term` has passed")
        } else {
            let is_expiring = shared.lease.core.is_expiring();
            is_expiring.then_some("its lease expires, or this process shuts down")
        }
    }

    /// Waits until somebody has resigned, or `max_term` has passed.
    async fn until_asked_to_end(&self) {
        let shared = &*self.shared;
        tokio::select! {
            biased;
            () = shared.resigned.wait() => {}
            () = shared.candidate_resigned.wait() => {}
            () = shared.clock.sleep_until(shared.until.unwrap_or_default()), if shared.until.is_some() => {}
        }
    }

    /// Runs `body` until it returns, or cuts it off. `None` says that it went on for too long after it was asked
    /// to end. The body is dropped when this completes.
    pub(super) async fn within<B: Future>(&self, body: B) -> Option<B::Output> {
        let cut_off = async {
            self.until_asked_to_end().await;
            let (clock, lease) = (&self.shared.clock, &self.shared.lease);
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
