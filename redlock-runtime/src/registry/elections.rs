//! The elections in which this process stands.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::Resource;
use redlock_core::env::Moment;
use redlock_core::lease::FencingToken;

use crate::site::Site;

/// An election in which this process stands: a [`run`](crate::election::Election::run) that has not ended.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// for election in redlock.registry().elections() {
///     println!("{}: leading for {:?}", election.resource, election.leading_for);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidacy {
    /// The office: the resource that the leader has locked.
    pub resource: Resource,
    /// The name of the election, and its place in the source.
    pub site: &'static Site,
    /// The text that watches are told while this candidate leads.
    pub value: Option<String>,
    /// The time since the present term began; `None` if this candidate does not lead.
    pub leading_for: Option<Duration>,
    /// The fencing token of the present term.
    pub fencing_token: Option<FencingToken>,
}

/// The candidates of one registry, in the order in which they entered.
#[derive(Default)]
pub(crate) struct Elections(Mutex<Vec<Arc<Candidate>>>);

/// A candidate, and its present term.
struct Candidate {
    resource: Resource,
    site: &'static Site,
    value: Option<Arc<str>>,
    /// When the present term began, and its token.
    term: Mutex<Option<(Moment, FencingToken)>>,
}

/// A candidate's place in the table. Its drop takes the candidate out.
pub(crate) struct Standing {
    elections: Arc<Elections>,
    candidate: Arc<Candidate>,
}

impl Elections {
    pub(crate) fn enter(
        self: &Arc<Self>,
        resource: Resource,
        site: &'static Site,
        value: Option<Arc<str>>,
    ) -> Standing {
        let candidate = Arc::new(Candidate {
            resource,
            site,
            value,
            term: Mutex::default(),
        });
        self.0.lock().push(Arc::clone(&candidate));
        Standing {
            elections: Arc::clone(self),
            candidate,
        }
    }

    pub(crate) fn list(&self, now: Moment) -> Vec<Candidacy> {
        let candidates = self.0.lock();
        let candidacy = |candidate: &Arc<Candidate>| {
            let term = *candidate.term.lock();
            Candidacy {
                resource: candidate.resource.clone(),
                site: candidate.site,
                value: candidate.value.as_deref().map(str::to_owned),
                leading_for: term.map(|(began, _)| now.saturating_since(began)),
                fencing_token: term.map(|(_, token)| token),
            }
        };
        candidates.iter().map(candidacy).collect()
    }
}

impl Standing {
    /// A term begins.
    pub(crate) fn begin_term(&self, now: Moment, fencing_token: FencingToken) {
        *self.candidate.term.lock() = Some((now, fencing_token));
    }

    /// The present term ends. Returns how long it was.
    pub(crate) fn end_term(&self, now: Moment) -> Duration {
        let term = self.candidate.term.lock().take();
        term.map_or(Duration::ZERO, |(began, _)| now.saturating_since(began))
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let mut candidates = self.elections.0.lock();
        candidates.retain(|it| !Arc::ptr_eq(it, &self.candidate));
    }
}
