//! The elections in which this process stands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::Resource;
use redlock_core::env::{Clock, Moment};
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
    /// What observers are told of this candidate while it leads.
    pub value: Option<String>,
    /// The time since the present term began; `None` if this candidate does not lead.
    pub leading_for: Option<Duration>,
    /// The fencing token of the present term.
    pub fencing_token: Option<FencingToken>,
}

/// The candidates of one registry.
#[derive(Default)]
pub(crate) struct Elections {
    state: Mutex<ElectionsState>,
}

#[derive(Default)]
struct ElectionsState {
    next_id: u64,
    candidates: BTreeMap<u64, Arc<Candidate>>,
}

/// What is known of one candidate.
pub(crate) struct Candidate {
    resource: Resource,
    site: &'static Site,
    value: Option<Arc<str>>,
    clock: Arc<dyn Clock>,
    /// When the present term began, and its token.
    term: Mutex<Option<(Moment, FencingToken)>>,
}

/// A candidate's place in the table. Its drop takes the candidate out.
pub(crate) struct Standing {
    elections: Arc<Elections>,
    id: u64,
    pub(crate) candidate: Arc<Candidate>,
}

impl Elections {
    pub(crate) fn enter(self: &Arc<Self>, candidate: Candidate) -> Standing {
        let candidate = Arc::new(candidate);
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.candidates.insert(id, Arc::clone(&candidate));
        Standing {
            elections: Arc::clone(self),
            id,
            candidate,
        }
    }

    pub(crate) fn list(&self) -> Vec<Candidacy> {
        let candidates: Vec<_> = self.state.lock().candidates.values().cloned().collect();
        let candidates = candidates.iter();
        candidates.map(|candidate| candidate.describe()).collect()
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.elections.state.lock().candidates.remove(&self.id);
    }
}

impl Candidate {
    pub(crate) fn new(
        resource: Resource,
        site: &'static Site,
        value: Option<Arc<str>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            resource,
            site,
            value,
            clock,
            term: Mutex::default(),
        }
    }

    /// A term begins.
    pub(crate) fn begin_term(&self, fencing_token: FencingToken) {
        let now = self.clock.now();
        *self.term.lock() = Some((now, fencing_token));
    }

    /// The present term ends. Returns how long it was.
    pub(crate) fn end_term(&self) -> Duration {
        let now = self.clock.now();
        let term = self.term.lock().take();
        term.map_or(Duration::ZERO, |(began, _)| now.saturating_since(began))
    }

    fn describe(&self) -> Candidacy {
        let now = self.clock.now();
        let term = *self.term.lock();
        Candidacy {
            resource: self.resource.clone(),
            site: self.site,
            value: self.value.as_deref().map(str::to_owned),
            leading_for: term.map(|(began, _)| now.saturating_since(began)),
            fencing_token: term.map(|(_, token)| token),
        }
    }
}
