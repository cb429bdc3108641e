//! Runs a candidate for an office: it waits, leads for a term, and stands again.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::env::Moment;
use redlock_core::error::{Brief, Invalid};
use redlock_core::internal::log_caught;
use redlock_core::request::MAX_NOTE_BYTES;
use redlock_core::targets;
use tokio::sync::SetOnce;
use tracing::info;

use super::Election;
use super::term::{Term, TermShared};
use crate::acquire::LockSpec;
use crate::error::{LockError, LockErrorKind};
use crate::lease::{Fenced, Lease, chain};
use crate::parameters::{LockOptions, MaxHold, OnLost, SiteParameters, Wait};
use crate::registry::{Candidacy, Registry};
use crate::telemetry::{GaugeCount, count_in_gauge, figure};

/// The lock parameters that an election accepts. The election sets all others itself: with `permits` or a `kind`,
/// several candidates would lead at a time.
const ACCEPTED_PARAMETERS: [&str; 4] = ["ttl", "retry_delay", "clock_drift_factor", "min_validity"];

impl Election {
    /// Stands for the office, and runs `body` with a [`Term`] each time this candidate is elected.
    ///
    /// A term ends when the body returns. Then the lock is released, and the candidate waits for two retry delays, so
    /// that others have their chance, before it stands again. If a term was shorter than this wait, the next wait is
    /// twice as long, up to the ttl. If the office is lost, the body is cut off at its next await, and the candidate
    /// stands again. The candidate waits while other processes lead, or while too few nodes answer.
    ///
    /// The future completes when this process shuts down, or when the candidate [resigns](Self::resign). At a shutdown
    /// the term is asked to end first. The body of the term is cut off after the grace period.
    ///
    /// `body` is a function, because each term calls it with its own [`Term`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let election = redlock_runtime::election("reindex");
    /// let standing = election.run(async |term| {
    ///     while term.proceed().await {
    /// #       election.resign();
    ///         println!("leading, with the token {}", term.fencing_token());
    ///     }
    /// });
    /// standing.await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error for a mistake, before the first
    /// term: [`NotInitialized`](LockErrorKind::NotInitialized), [`UnknownPool`](LockErrorKind::UnknownPool),
    /// and [`Invalid`](LockErrorKind::Invalid).
    ///
    /// # Cancellation
    /// Dropping the future drops the body first, then releases the lock. A candidate that waits leaves the line.
    pub async fn run<B: Future<Output = ()>>(
        &self,
        mut body: impl FnMut(Term) -> B,
    ) -> Result<(), LockError> {
        self.try_run(|term| {
            let body = body(term);
            async {
                body.await;
                Ok(())
            }
        })
        .await
    }

    /// Stands as [`run`](Self::run) does, but the body may fail. If the body returns `Err`, the lock is released, and
    /// the candidate leaves the election.
    ///
    /// ```
    /// # use std::io;
    /// # use redlock_runtime::LockError;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// # #[derive(Debug, thiserror::Error)]
    /// # enum Failed { #[error(transparent)] Lock(#[from] LockError), #[error(transparent)] Io(#[from] io::Error) }
    /// let election = redlock_runtime::election("reindex");
    /// let led: Result<(), Failed> = election
    ///     .try_run(async |_term| Err(io::Error::other("no disk"))?)
    ///     .await;
    /// assert!(matches!(led, Err(Failed::Io(_))));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the body's own error, or an error of [`run`](Self::run).
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`run`](Self::run).
    pub async fn try_run<E: From<LockError>, B: Future<Output = Result<(), E>>>(
        &self,
        mut body: impl FnMut(Term) -> B,
    ) -> Result<(), E> {
        let mut candidate = Candidate::enter(self)?;
        while let Some((lease, term)) = candidate.win_term().await? {
            let body = &mut body;
            let began = candidate.now();
            // Box the future of a term, because it is large.
            let held = Box::pin(lease.run(async |_| {
                // Declared before the body, and so dropped after it.
                let mut running = candidate.begin_term(&term);
                let output = term.within(body(term.clone())).await;
                running.reason = term.reason_to_end().unwrap_or("its body returned");
                output
            }));
            // An error means that the office is lost. Others may lead by now, so this candidate need not stand aside.
            if let Ok(output) = held.await {
                output.unwrap_or(Ok(()))?;
                candidate.stand_aside_after(candidate.now().saturating_since(began));
            }
        }
        Ok(())
    }

    /// Checks the parameters that a lock would accept, but an election refuses.
    fn check(&self) -> Result<(), Invalid> {
        let names = self.spec.options.names();
        let own = names.iter().find(|own| !ACCEPTED_PARAMETERS.contains(own));
        let value = self.value.as_ref().filter(|it| it.len() > MAX_NOTE_BYTES);
        Err(Invalid::new(if let Some(own) = own {
            format!("an election sets `{own}` itself; leave `{own}` out")
        } else if let Some(max_term) = self.max_term.filter(Duration::is_zero) {
            format!(
                "`max_term` is {}, which leaves no time for a term; leave it out for terms without a limit",
                Brief(max_term),
            )
        } else if let Some(value) = value {
            format!(
                "`value` has {} bytes, more than the {MAX_NOTE_BYTES} allowed; shorten it, for example to an \
                 address that has the rest",
                value.len(),
            )
        } else if chain::is_held(self.spec.resource.clone()) {
            "the election runs below a holder of its own lock, so it could not be lost; run it outside of \
             that holder's body, or in a spawned task"
                .to_owned()
        } else {
            return Ok(());
        }))
    }
}

/// A candidate that stands. Dropping the candidate removes it from the registry's list.
struct Candidate<'a> {
    election: &'a Election,
    /// The specification of the office's lock.
    spec: LockSpec,
    registry: Registry,
    /// The candidate's number in the registry's list of elections.
    number: u64,
    parameters: SiteParameters,
    /// True if the last term ended on purpose. The candidate then lets the others come first.
    stands_aside: bool,
    /// The time to stand aside, if it is longer than the shortest pause.
    pause: Duration,
}

impl<'a> Candidate<'a> {
    fn enter(election: &'a Election) -> Result<Self, LockError> {
        let mut spec = election.spec.clone();
        let registry = spec.registry()?;
        let checked = election.check();
        checked.map_err(|it| spec.error(LockErrorKind::Invalid(it), Some(&registry)))?;
        let shared = &registry.shared;
        let own = LockOptions::new()
            .wait(Wait::Forever)
            .max_hold(MaxHold::Unlimited)
            .fencing(true)
            .on_lost(OnLost::Cancel);
        spec.options = own.above(spec.options);
        // A rate misses the first term unless a zero comes before it.
        let site = spec.site.name();
        figure!(gauge LEADING { site: site } increment(0));
        figure!(counter TERMS { site: site } increment(0));
        let candidacy = Candidacy {
            resource: spec.resource.clone(),
            site: spec.site,
            value: election.value.as_deref().map(str::to_owned),
            leading_for: None,
            fencing_token: None,
            began: None,
        };
        let number = shared.elections.enter(candidacy);
        Ok(Self {
            election,
            parameters: spec.options.above(shared.defaults).decided(false),
            spec,
            registry,
            number,
            stands_aside: false,
            pause: Duration::ZERO,
        })
    }

    fn now(&self) -> Moment {
        self.registry.shared.environment.clock.now()
    }

    /// Makes the candidate stand aside after a term of this `length` that ended on purpose.
    ///
    /// Each short term in a row doubles the pause. Otherwise a candidate whose body returns at once would ask the nodes
    /// all the time.
    fn stand_aside_after(&mut self, length: Duration) {
        self.stands_aside = true;
        let shortest = self.shortest_pause();
        self.pause = if length < shortest {
            let longer = self.pause.saturating_mul(2).min(self.parameters.ttl);
            longer.max(shortest)
        } else {
            Duration::ZERO
        };
    }

    /// Returns two retry delays. Within one, a candidate of another process tries again, even if it missed the release.
    fn shortest_pause(&self) -> Duration {
        self.parameters.retry_delay.saturating_mul(2)
    }

    /// Waits until this candidate is elected. Returns `None` if the candidate has resigned, or if this process
    /// shuts down.
    async fn win_term(&mut self) -> Result<Option<(Fenced<Lease>, Term)>, LockError> {
        loop {
            if std::mem::take(&mut self.stands_aside) {
                self.stand_aside().await;
            }
            let acquired = tokio::select! {
                biased;
                () = self.election.resigned.wait() => return Ok(None),
                acquired = self.spec.clone().acquire() => acquired,
            };
            let lease = match acquired {
                Ok(lease) => lease,
                Err(error) if error.is_shutting_down() => return Ok(None),
                // `Contended` means that the line of this process is full. The other kinds are unexpected, because the
                // acquisition waits forever, but the candidate survives them.
                Err(error) if error.is_contended() || error.is_unavailable() || error.is_lost() => {
                    self.stands_aside = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // Every election sets `fencing`, so the lease has a token.
            let lease = Fenced::new(lease);
            let shared = Arc::new(TermShared {
                lease: lease.handle(),
                candidate_resigned: Arc::clone(&self.election.resigned),
                registry: self.registry.clone(),
                until: (self.election.max_term).map(|max_term| self.now().saturating_add(max_term)),
                resigned: SetOnce::new(),
            });
            return Ok(Some((lease, Term { shared })));
        }
    }

    /// Pauses, so that other candidates come first.
    async fn stand_aside(&self) {
        let shared = &*self.registry.shared;
        let pause = self.pause.max(self.shortest_pause());
        let until = self.now().saturating_add(pause);
        tokio::select! {
            biased;
            () = shared.held.closed.wait() => {}
            () = self.election.resigned.wait() => {}
            () = shared.environment.clock.sleep_until(until) => {}
        }
    }

    fn begin_term(&self, term: &Term) -> RunningTerm<'_> {
        let (began, fencing_token) = (self.now(), term.fencing_token());
        let elections = &self.registry.shared.elections;
        elections.set_term(self.number, Some(began), Some(fencing_token));
        let LockSpec { site, resource, .. } = &self.spec;
        let site = site.name();
        info!(
            target: targets::ELECTION, site, %resource,
            token = term.lease().token_id(), %fencing_token,
            "elected: a term begins",
        );
        figure!(counter TERMS { site: site } increment(1));
        RunningTerm {
            candidate: self,
            _leading: count_in_gauge!(LEADING { site: site }),
            term: term.clone(),
            began,
            reason: "its body panicked, or was dropped",
        }
    }
}

impl Drop for Candidate<'_> {
    fn drop(&mut self) {
        self.registry.shared.elections.leave(self.number);
    }
}

/// A term in progress. The drop records the end of the term, after the body's drop and before the release.
struct RunningTerm<'a> {
    candidate: &'a Candidate<'a>,
    _leading: GaugeCount,
    term: Term,
    began: Moment,
    /// The reason for the end of the term. If the office is lost, the lease has the reason.
    reason: &'static str,
}

impl Drop for RunningTerm<'_> {
    fn drop(&mut self) {
        let (candidate, term) = (self.candidate, &self.term);
        let elections = &candidate.registry.shared.elections;
        elections.set_term(candidate.number, None, None);
        let length = candidate.now().saturating_since(self.began);
        let LockSpec { site, resource, .. } = &candidate.spec;
        let site = site.name();
        let lost = term.lease().core.over().map(|over| over.to_string());
        let reason = lost.as_deref().unwrap_or(self.reason);
        figure!(histogram TERM { site: site } record(length));
        log_caught!(info!(
            target: targets::ELECTION, site, %resource,
            token = term.lease().token_id(), fencing_token = %term.fencing_token(),
            in_office = length.as_secs_f64(), %reason,
            "a term has ended",
        ));
    }
}
