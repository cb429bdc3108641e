//! Standing for an office: terms in a loop.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::env::Moment;
use redlock_core::error::{Brief, Invalid};
use redlock_core::logging::log_caught;
use redlock_core::request::MAX_NOTE_BYTES;
use tokio::sync::SetOnce;
use tracing::info;

use super::Election;
use super::term::{Term, TermShared};
use crate::acquire::Wanted;
use crate::error::{LockError, LockErrorKind};
use crate::lease::{Lease, LeaseEnd, chain};
use crate::parameters::{LockOptions, OnLost, Renewal, SiteParameters, Wait};
use crate::registry::elections::Standing;
use crate::registry::{Registry, scope};
use crate::telemetry::{Gauged, figure, gauged};

/// The parameters of a lock that an election takes. All others are its own: with `permits` or a `mode`
/// several candidates would lead at a time.
const TAKEN: [&str; 4] = ["ttl", "retry_delay", "clock_drift_factor", "min_validity"];

impl Election {
    /// Stands for the office until this process shuts down or the candidate [resigns](Self::resign), and
    /// runs `body` each time that it is elected, with the [`Term`].
    ///
    /// A term ends when the body returns. Its lock is released then, and the candidate stands again, after
    /// two retry delays in which the others have their chance. If a term was shorter than these, the next
    /// pause is twice as long, up to the ttl. If the office is lost, the body is cut off at its next await,
    /// and the candidate stands again. That other processes lead, and that no majority
    /// of the nodes answers, is waited out and no error. If this process shuts down, a term is asked to end
    /// first, and its body is cut off after the grace period.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
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
    /// What waiting does not mend, before the first term:
    /// [`NotInitialized`](LockErrorKind::NotInitialized), [`UnknownPool`](LockErrorKind::UnknownPool),
    /// and [`Invalid`](LockErrorKind::Invalid).
    ///
    /// # Cancellation
    /// Dropping the future drops the body first, then releases the lock; a candidate that waits leaves the
    /// line.
    pub async fn run<F, B>(&self, body: F) -> Result<(), LockError>
    where
        F: FnMut(Term) -> B,
        B: Future<Output = ()>,
    {
        self.stand(body, |()| Ok(())).await
    }

    /// As [`run`](Self::run), for a body that may fail. If it returns `Err`, its lock is released, and the
    /// candidate stands no longer.
    ///
    /// ```
    /// # use std::io;
    /// # use redlock_runtime::LockError;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
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
    /// The body's own, and those of [`run`](Self::run).
    ///
    /// # Cancellation
    /// As [`run`](Self::run).
    pub async fn try_run<F, B, E>(&self, body: F) -> Result<(), E>
    where
        F: FnMut(Term) -> B,
        B: Future<Output = Result<(), E>>,
        E: From<LockError>,
    {
        self.stand(body, |ended| ended).await
    }

    /// The loop. `result` says of a body's output whether the candidate goes on.
    async fn stand<F, B, E>(
        &self,
        mut body: F,
        result: fn(B::Output) -> Result<(), E>,
    ) -> Result<(), E>
    where
        F: FnMut(Term) -> B,
        B: Future,
        E: From<LockError>,
    {
        let mut campaign = Campaign::begin(self)?;
        while let Some((lease, term)) = campaign.elected().await? {
            let body = &mut body;
            let began = campaign.now();
            // Boxed, as `run` stores the body several times.
            let held = Box::pin(lease.run(async |_| {
                // Declared before the body, and so dropped behind it.
                let mut office = campaign.enter_office(&term);
                let output = term.within(body(term.clone())).await;
                office.reason = term.reason_to_end().unwrap_or("its body returned");
                output
            }));
            // An error says that the office is lost: others may lead by now.
            if let Ok(output) = held.await {
                output.map_or(Ok(()), result)?;
                campaign.term_ended_after(campaign.now().saturating_since(began));
            }
        }
        Ok(())
    }

    /// What is wrong with the parameters, that the lock does not find.
    fn check(&self) -> Result<(), Invalid> {
        let names = self.wanted.options.names();
        if let Some(own) = names.iter().find(|own| !TAKEN.contains(own)) {
            return Err(Invalid::new(format!(
                "`{own}` is set for an election, which decides by itself what it is; leave `{own}` out",
            )));
        }
        if let Some(max_term) = self.max_term.filter(Duration::is_zero) {
            return Err(Invalid::new(format!(
                "`max_term` of {}, in which nothing can be done; leave it out for terms without a limit",
                Brief(max_term),
            )));
        }
        if let Some(value) = self.value.as_ref().filter(|it| it.len() > MAX_NOTE_BYTES) {
            return Err(Invalid::new(format!(
                "a `value` of {} bytes, of at most {MAX_NOTE_BYTES}; shorten it, for example to an address \
                 that tells the rest",
                value.len(),
            )));
        }
        if chain::is_held(self.wanted.resource.clone()) {
            return Err(Invalid::new(
                "the election is below a holder of its own lock, and could not be lost; stand outside of \
                 that holder's body, or in a spawned task"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

/// One run of an election.
struct Campaign<'a> {
    election: &'a Election,
    /// The lock of the office.
    wanted: Wanted,
    registry: Registry,
    standing: Standing,
    parameters: SiteParameters,
    /// True if the last term ended on purpose: the others come first.
    stands_aside: bool,
    /// How long this candidate stands aside.
    pause: Duration,
}

impl<'a> Campaign<'a> {
    fn begin(election: &'a Election) -> Result<Self, LockError> {
        let mut wanted = election.wanted.clone();
        let Some(registry) = scope::current() else {
            return Err(wanted.error(LockErrorKind::NotInitialized, None));
        };
        let checked = election.check();
        checked.map_err(|it| wanted.error(LockErrorKind::Invalid(it), Some(&registry)))?;
        let shared = &registry.shared;
        let own = LockOptions::new()
            .wait(Wait::Forever)
            .max_hold(Renewal::Unlimited)
            .fencing(true)
            .on_lost(OnLost::Cancel);
        wanted.options = own.above(wanted.options);
        // Zeros, so that a rate sees the first term.
        let site = wanted.site.site_name();
        figure!(gauge LEADING { site: site } increment(0));
        figure!(counter TERMS { site: site } increment(0));
        let (resource, value) = (wanted.resource.clone(), election.value.clone());
        let standing = shared.elections.enter(resource, wanted.site, value);
        Ok(Self {
            election,
            parameters: wanted.options.above(shared.defaults).decided(false),
            wanted,
            registry,
            standing,
            stands_aside: false,
            pause: Duration::ZERO,
        })
    }

    fn now(&self) -> Moment {
        self.registry.shared.environment.clock.now()
    }

    /// A term of this `length` ended on purpose. Each further term in a row that ended at once doubles the pause after
    /// it: otherwise a candidate whose body returns at once would ask the nodes all the time.
    fn term_ended_after(&mut self, length: Duration) {
        self.stands_aside = true;
        let shortest = self.shortest_pause();
        self.pause = if length < shortest {
            let longer = self.pause.saturating_mul(2).min(self.parameters.ttl);
            longer.max(shortest)
        } else {
            Duration::ZERO
        };
    }

    /// Two retry delays: a candidate of another process that has not heard of the release tries within one.
    fn shortest_pause(&self) -> Duration {
        self.parameters.retry_delay.saturating_mul(2)
    }

    /// Waits until this candidate is elected. `None` if it stands no longer.
    async fn elected(&mut self) -> Result<Option<(Lease, Term)>, LockError> {
        loop {
            if std::mem::take(&mut self.stands_aside) {
                self.stand_aside().await;
            }
            let acquired = tokio::select! {
                biased;
                () = self.election.resigned.wait() => return Ok(None),
                acquired = self.wanted.acquire() => acquired,
            };
            let lease = match acquired {
                Ok(lease) => lease,
                Err(error) => match error.kind() {
                    LockErrorKind::ShuttingDown => return Ok(None),
                    // The line of this process is full. The others are no error of an acquisition that
                    // waits for ever; if they come all the same, a candidate goes on.
                    LockErrorKind::Contended(_)
                    | LockErrorKind::Unavailable(_)
                    | LockErrorKind::Lost(_) => {
                        self.stands_aside = true;
                        continue;
                    }
                    _ => return Err(error),
                },
            };
            // An election asks for a token.
            let Some(fencing_token) = lease.fencing_token() else {
                return Err(lease.handle().lost_error(LeaseEnd::Released));
            };
            let shared = Arc::new(TermShared {
                lease: lease.handle(),
                fencing_token,
                candidate_resigned: Arc::clone(&self.election.resigned),
                clock: Arc::clone(&self.registry.shared.environment.clock),
                until: (self.election.max_term).map(|max_term| self.now().saturating_add(max_term)),
                resigned: SetOnce::new(),
            });
            return Ok(Some((lease, Term { shared })));
        }
    }

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

    fn enter_office(&self, term: &Term) -> Office<'_> {
        self.standing.begin_term(self.now(), term.fencing_token());
        let Wanted { site, resource, .. } = &self.wanted;
        let site = site.site_name();
        info!(
            site, %resource,
            token = term.lease().token_id(), fencing_token = %term.fencing_token(),
            "elected: a term begins",
        );
        figure!(counter TERMS { site: site } increment(1));
        Office {
            campaign: self,
            _leading: gauged!(LEADING { site: site }),
            term: term.clone(),
            reason: "its body panicked, or was dropped",
        }
    }
}

/// A term that runs. Its drop tells the term's end, behind the body's and before the release.
struct Office<'a> {
    campaign: &'a Campaign<'a>,
    _leading: Gauged,
    term: Term,
    /// The reason of the term's end, unless the office is lost.
    reason: &'static str,
}

impl Drop for Office<'_> {
    fn drop(&mut self) {
        let (campaign, term) = (self.campaign, &self.term);
        let Wanted { site, resource, .. } = &campaign.wanted;
        let site = site.site_name();
        let length = campaign.standing.end_term(campaign.now());
        let lost = term.lease().core.over().map(|over| over.to_string());
        let reason = lost.as_deref().unwrap_or(self.reason);
        figure!(histogram TERM { site: site } record(length));
        log_caught!(info!(
            site, %resource,
            token = term.lease().token_id(), fencing_token = %term.fencing_token(),
            in_office = length.as_secs_f64(), %reason,
            "a term has ended",
        ));
    }
}
