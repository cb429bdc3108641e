//! Watches who leads.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::env::{Clock, Moment};
use redlock_core::internal::debug_in_part;
use redlock_core::node::Remaining;
use redlock_core::peek::{Holder, LockStatus};
use redlock_core::waiting::QuorumWatch;
use redlock_core::{NodeSet, Resource};
use tokio::sync::watch;

use super::Election;
use crate::acquire::LockSpec;
use crate::error::{LockError, LockErrorKind};
use crate::registry::Registry;

/// The pause after a look that too few nodes answered, or that found several holders.
const UNDECIDED_PAUSE: Duration = Duration::from_secs(1);

/// The leader, as a watch saw it. It is advice: when it is read, another process may lead, or no
/// process. Never let work that only a leader may do depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaderStatus {
    /// The leader that was seen last, if any.
    pub leader: Option<Leader>,
    /// The time since the last answer of a majority of the nodes; `None` before the first.
    pub age: Option<Duration>,
}

/// The leader of an election, as watches see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// `host/pid` of the leader's process; `None` if another client than this library has the lock, or if
    /// readers have it.
    pub owner: Option<String>,
    /// The [value](Election::value) of the candidate that leads. It is what stands on the nodes: escape it
    /// before it is shown.
    pub value: Option<String>,
}

/// Follows who leads: see [`Election::watch`]. Clones share the looks, and each of them reports every
/// change.
#[derive(Clone)]
pub struct LeaderWatch {
    seen: watch::Receiver<LastSeen>,
    clock: Arc<dyn Clock>,
}

/// The result of the last looks.
#[derive(Default)]
struct LastSeen {
    leader: Option<Holder>,
    /// The moment at which a majority answered last.
    at: Option<Moment>,
}

impl LastSeen {
    /// Returns the moment at which the leader's keys expire, unless it extends them.
    fn expires(&self) -> Option<Moment> {
        match self.leader.as_ref()?.remaining() {
            Remaining::Expires(left) => Some(self.at?.saturating_add(left)),
            _ => None,
        }
    }
}

impl Election {
    /// Follows who leads, also in a process that stays out of the election. The watch looks at the nodes at
    /// once, after each change that they report, and each half of the ttl. It sees a leader that was killed
    /// until its keys expire, a ttl at most.
    ///
    /// Its reports are advice: see [`LeaderStatus`]. It ends with its last clone, or when this process shuts
    /// down.
    ///
    /// # Errors
    /// [`NotInitialized`](LockErrorKind::NotInitialized), [`UnknownPool`](LockErrorKind::UnknownPool), and
    /// [`Invalid`](LockErrorKind::Invalid) for a name that no lock can have. If the nodes do not answer, the
    /// [age](LeaderStatus::age) grows, and there is no error.
    ///
    /// # Example: requests go to the leader
    /// ```
    /// # use redlock_runtime::{Config, Redlock};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// # let _entered = redlock.registry().enter();
    /// # let leaves = redlock_runtime::election("reindex");
    /// let mut watch = redlock_runtime::election("reindex").watch()?;
    /// # let standing = leaves.run(async |term| term.ending().await);
    /// # let watching = async {
    /// while watch.changed().await {
    ///     match watch.status().leader {
    ///         Some(leader) => println!("{:?} leads, at {:?}", leader.owner, leader.value),
    ///         None => println!("nobody leads"),
    ///     }
    /// #   if watch.status().leader.is_some() { break }
    /// }
    /// # leaves.resign();
    /// # };
    /// # tokio::join!(standing, watching).0?;
    /// # Ok(()) }
    /// ```
    pub fn watch(&self) -> Result<LeaderWatch, LockError> {
        let LockSpec {
            resource, options, ..
        } = &self.spec;
        let (registry, nodes) = self.spec.registry_and_nodes()?;
        let changes = registry.shared.client.watch_changes(&nodes, resource);
        let invalid = |it| (self.spec).error(LockErrorKind::Invalid(it), Some(&registry));
        let changes = changes.map_err(invalid)?;
        let parameters = options.above(registry.shared.defaults).decided(false);
        let (sender, seen) = watch::channel(LastSeen::default());
        let environment = registry.shared.environment.clone();
        let task = WatchTask {
            resource: resource.clone(),
            nodes,
            every: parameters.ttl / 2,
            registry,
            sender,
        };
        environment.spawner.spawn(Box::pin(async move {
            tokio::select! {
                biased;
                () = task.registry.shared.held.closed.wait() => {}
                () = task.sender.closed() => {}
                () = task.look(changes) => {}
            }
        }));
        let clock = environment.clock;
        Ok(LeaderWatch { seen, clock })
    }
}

impl LeaderWatch {
    /// Returns who leads, by the last look.
    pub fn status(&self) -> LeaderStatus {
        let seen = self.seen.borrow();
        let now = self.clock.now();
        LeaderStatus {
            leader: seen.leader.as_ref().map(|holder| Leader {
                owner: holder.owner().map(str::to_owned),
                value: holder.note().map(|note| note.as_str().to_owned()),
            }),
            age: seen.at.map(|at| now.saturating_since(at)),
        }
    }

    /// Waits for a change of the leader: another process, another term, or none.
    /// Completes at once if that has happened since the last call, and after the first look. False if
    /// this process shuts down, as no further change is seen.
    ///
    /// # Cancellation
    /// Dropping the future has no effect: the next call reports the change.
    pub async fn changed(&mut self) -> bool {
        self.seen.changed().await.is_ok()
    }
}

debug_in_part!(LeaderWatch, it => status: it.status());

/// The background task of one watch.
struct WatchTask {
    resource: Resource,
    nodes: NodeSet,
    every: Duration,
    registry: Registry,
    sender: watch::Sender<LastSeen>,
}

impl WatchTask {
    async fn look(&self, mut changes: QuorumWatch) {
        let shared = &*self.registry.shared;
        let (client, clock) = (&shared.client, &shared.environment.clock);
        loop {
            let status = client.peek(&self.nodes, &self.resource).await;
            let now = clock.now();
            let pause = match &status {
                Ok(LockStatus::Free | LockStatus::Held(_)) => self.every,
                _ => self.every.min(UNDECIDED_PAUSE),
            };
            let until = self.report(status.ok(), now);
            let next = now.saturating_add(pause);
            let next = until.map_or(next, |until| next.min(until));
            let has_changed = tokio::select! {
                biased;
                () = changes.until_reported() => true,
                () = clock.sleep_until(next) => false,
            };
            if !has_changed && changes.is_blind() {
                // Nodes that refused to tell of changes are asked again.
                if let Ok(again) = client.watch_changes(&self.nodes, &self.resource) {
                    changes = again;
                }
            }
        }
    }

    /// Reports `status` to the watches. Returns the moment at which the leader's keys expire.
    fn report(&self, status: Option<LockStatus>, now: Moment) -> Option<Moment> {
        self.sender.send_if_modified(|seen| {
            let leader = match status {
                Some(LockStatus::Free) => None,
                Some(LockStatus::Held(holder)) => Some(holder),
                // The last leader counts until its keys have expired.
                _ => {
                    let has_expired = seen.expires().is_some_and(|at| at <= now);
                    return has_expired && seen.leader.take().is_some();
                }
            };
            let is_first = seen.at.replace(now).is_none();
            let is_same = match (&seen.leader, &leader) {
                (Some(known), Some(holder)) => known.is_same(holder),
                (known, leader) => known.is_none() && leader.is_none(),
            };
            seen.leader = leader;
            is_first || !is_same
        });
        self.sender.borrow().expires()
    }
}
