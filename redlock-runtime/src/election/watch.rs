//! Watches who leads, for processes inside and outside of an election.

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

/// The pause after a look without a result: too few nodes answered, or the nodes named several holders.
const UNDECIDED_PAUSE: Duration = Duration::from_secs(1);

/// The leader, as a watch last saw it. The status is only advice: by the time it is read, another process may lead, or
/// none. Work that only a leader may do must never depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaderStatus {
    /// The leader that was seen last. `None` if nobody led.
    pub leader: Option<Leader>,
    /// The time since a majority of the nodes last answered. `None` before the first answer.
    pub age: Option<Duration>,
}

/// The leader of an election, as watches show it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The `host/pid` of the leader's process. `None` if the lock belongs to readers, or to a client other than this
    /// library.
    pub owner: Option<String>,
    /// The [value](Election::value) of the candidate that leads. Escape it before it is shown, because anyone who can
    /// write to the nodes can choose it.
    pub value: Option<String>,
}

/// Follows who leads: see [`Election::watch`]. Clones share the looks at the nodes, and each clone reports every
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
    /// The last moment at which a majority answered.
    at: Option<Moment>,
}

impl LastSeen {
    /// Returns the moment at which the leader's keys expire without an extension.
    fn expires(&self) -> Option<Moment> {
        match self.leader.as_ref()?.remaining() {
            Remaining::Expires(left) => Some(self.at?.saturating_add(left)),
            _ => None,
        }
    }
}

impl Election {
    /// Follows who leads, even in a process that stays out of the election.
    ///
    /// The watch looks at the nodes at once, after each change that they report, and every half ttl. A killed leader is
    /// shown until the leader's keys expire, which takes a ttl at most. All reports are advice: see [`LeaderStatus`].
    /// The watch ends with its last clone, or when this process shuts down.
    ///
    /// # Errors
    /// Returns [`NotInitialized`](LockErrorKind::NotInitialized), [`UnknownPool`](LockErrorKind::UnknownPool),
    /// or [`Invalid`](LockErrorKind::Invalid) for a name that a lock cannot have. Silent nodes are not an error, but
    /// the [age](LeaderStatus::age) grows.
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
    /// Returns who led at the last look.
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

    /// Waits for a change of the leader: another process, another term, or none. Returns false if this process shuts
    /// down, because the watch ends then.
    ///
    /// The first look counts as a change. A change since the last call completes this call at once.
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
                // Some nodes may have refused to report changes, so ask them again.
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
