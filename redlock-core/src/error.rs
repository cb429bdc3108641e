//! Errors of locks: [`AcquireError`], [`ExtendError`], and [`LeaseEnd`], the reason why a lease is over. The texts name
//! the nodes, the holder and the fix. [`Brief`] writes their durations.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use crate::model::brief::Brief;
pub use crate::model::invalid::Invalid;
pub use crate::model::last_run::LastRun;
use crate::model::majority::majority;
use crate::model::resource::Resource;
pub use crate::model::shortage::Shortage;
use crate::node::{Holding, NodeError, Vote, bit};

/// The reason why a lock was not acquired. The failed attempts leave nothing on a node that answered.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// A majority of the nodes answered, and another client holds the resource.
    #[error(transparent)]
    Contended(Contended),
    /// Too few nodes answered for a majority, or a majority answered too late.
    #[error(transparent)]
    Unavailable(Unavailable),
    /// A majority of the nodes remembers a run of this period. See
    /// [`Request::once_per`](crate::Request::once_per).
    #[error(transparent)]
    AlreadyRun(LastRun),
    /// The request itself cannot be served.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// The reason why a lease could not be extended.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// The lease is over.
    #[error("{0}")]
    Ended(LeaseEnd),
    /// Too few nodes answered for a majority. The old deadline still holds.
    #[error(transparent)]
    Unavailable(Unavailable),
    /// The request itself cannot be served.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// The reason why a lease is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseEnd {
    /// The ttl is over, and the lease was not renewing itself.
    Expired,
    /// The validity ended, and no majority had granted the last extension.
    NotRenewed(Arc<Unavailable>),
    /// The lease was renewed for this time, the `max_hold` of its request, and then ended.
    MaxHold(Duration),
    /// The validity ended before the due renewal could run, because this process or its host stood still.
    StoodStill,
    /// Fewer nodes than a majority can still hold the lease's token. The value is another holder's `host/pid`, if a
    /// node named one.
    Taken(Option<Arc<str>>),
    /// Fewer nodes than a majority surely remember the lease. Others restarted, or their clocks stepped.
    Forgotten,
    /// The lease was revoked, because the process is shutting down.
    Revoked,
    /// The holder released the lease.
    Released,
}

impl LeaseEnd {
    /// Returns the reason as a word for labels, such as `expired` or `not_renewed`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::NotRenewed(_) => "not_renewed",
            Self::MaxHold(_) => "max_hold",
            Self::StoodStill => "stood_still",
            Self::Taken(_) => "taken",
            Self::Forgotten => "forgotten",
            Self::Revoked => "revoked",
            Self::Released => "released",
        }
    }

    /// True if the lease's validity ended, for whatever reason it was not extended.
    pub const fn is_end_of_validity(&self) -> bool {
        matches!(
            self,
            Self::Expired | Self::NotRenewed(_) | Self::MaxHold(_) | Self::StoodStill
        )
    }
}

impl fmt::Display for LeaseEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "its ttl is over, and it does not renew itself (`max_hold`)",
            Self::NotRenewed(error) => return write!(f, "not renewed: {}", Blamed(error)),
            Self::MaxHold(held) => return write!(f, "`max_hold` of {} is over", Brief(*held)),
            Self::StoodStill => {
                return write!(f, "its renewal was due and did not run before the end: {STOOD_STILL}");
            }
            Self::Taken(Some(owner)) => {
                return write!(f, "taken by {owner}: its keys were gone on too many nodes");
            }
            Self::Taken(None) => "its keys were deleted, or are another's, on too many nodes",
            Self::Forgotten => {
                "too many nodes may have forgotten the lock: they restarted, or their clocks stepped"
            }
            Self::Revoked => "revoked, because this process is shutting down",
            Self::Released => "it was released",
        })
    }
}

/// The usual delay of timers.
const TIMER_DELAY: Duration = Duration::from_millis(10);

/// The reason why this process missed a moment at which something was due.
pub(crate) const STOOD_STILL: &str = "this process or its host stood still, or was too busy";

/// Writes the nodes that were at fault: `b: no answer in 50 ms; c: …`.
struct Blamed<'a>(&'a Unavailable);

impl fmt::Display for Blamed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_at_fault = |node: &&NodeReport| !matches!(node.outcome, NodeOutcome::NotAwaited);
        let mut blamed = self.0.nodes.iter().filter(is_at_fault);
        match blamed.next() {
            Some(first) => first.fmt(f)?,
            None => self.0.fmt(f)?,
        }
        blamed.try_for_each(|node| write!(f, "; {node}"))
    }
}

/// The error of a resource that another client holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Contended {
    /// The key of the other holder, if a node reported it.
    pub holding: Holding,
    /// The first held name, if several names were locked and a node named it.
    pub name: Option<Resource>,
    /// The number of attempts. A caller that only waited in line for other callers of its process has made no attempt.
    pub attempts: u32,
    /// The time after which the caller gave up.
    pub waited: Duration,
    /// The number of callers in the process's line if the line is full, and zero otherwise.
    pub waiters: usize,
    /// The reason why no permit was acquired, if the request was for a permit.
    pub shortage: Option<Shortage>,
}

impl Contended {
    /// Makes the error of a caller that only waited in line.
    pub(crate) fn by(holding: Holding) -> Self {
        Self {
            holding,
            name: None,
            attempts: 0,
            waited: Duration::ZERO,
            waiters: 0,
            shortage: None,
        }
    }
}

impl fmt::Display for Contended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.waiters > 0 {
            return write!(
                f,
                "wanted by {} callers of this process already, and no more may wait",
                self.waiters
            );
        }
        match &self.shortage {
            Some(shortage) if !self.holding.obstacle.is_advice() => {
                shortage.fmt(f)?;
                if shortage.is_split {
                    self.holding.fmt_time(f)?;
                } else {
                    f.write_str(", the first to expire ")?;
                    self.holding.fmt_by(None, f)?;
                }
            }
            _ => self.holding.fmt_with_name(self.name.as_ref(), f)?,
        }
        write!(f, "; {}", GaveUp(self.attempts, self.waited))
    }
}

impl std::error::Error for Contended {}

/// The error for too few answers in time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unavailable {
    /// The number of nodes whose grants count.
    pub granted: usize,
    /// The number of grants that a majority needs.
    pub needed: usize,
    /// The reports of all other nodes, in the order of the configuration.
    pub nodes: Vec<NodeReport>,
    /// The limit that was missed, if a majority granted too late.
    pub too_late: Option<TooLate>,
    /// The number of attempts.
    pub attempts: u32,
    /// The time after which the caller gave up.
    pub waited: Duration,
    /// True if the caller gave up before its [`Wait`](crate::request::RetryLimit::Wait) was over. The reason is that no
    /// majority answered its retries.
    pub gave_up_early: bool,
}

impl Unavailable {
    /// Makes the error of one attempt that all of the `configured` nodes granted, except `nodes`.
    pub(crate) fn in_one_attempt(
        configured: usize,
        nodes: Vec<NodeReport>,
        waited: Duration,
    ) -> Self {
        Self {
            granted: configured - nodes.len(),
            needed: majority(configured),
            nodes,
            too_late: None,
            attempts: 1,
            waited,
            gave_up_early: false,
        }
    }

    /// Returns the time until enough nodes for a majority are out of quarantine. The time is zero if enough nodes are
    /// out already, or if the end is unknown.
    pub fn quarantine_left(&self) -> Duration {
        let left = |node: &NodeReport| match &node.outcome {
            NodeOutcome::Failed(error) => error.quarantine_left,
            _ => Duration::ZERO,
        };
        let mut left: Vec<_> = self.nodes.iter().map(left).collect();
        left.sort_unstable();
        // The nodes that granted may grant again. Keep as many of the other nodes as a majority needs.
        left.truncate(self.needed.saturating_sub(self.granted));
        left.pop().unwrap_or_default()
    }
}

/// The limit that the votes of a majority missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TooLate {
    /// Only this much validity was left: zero, or less than the request asked for.
    Validity(Duration),
    /// The attempt was given up after this time.
    Timeout(Duration),
}

/// The answer of a node that did not grant, or whose vote does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeReport {
    /// The pool's name.
    pub name: Arc<str>,
    /// The node's answer.
    pub outcome: NodeOutcome,
}

/// The outcome in a [`NodeReport`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeOutcome {
    /// Another client holds the resource on the node.
    Held,
    /// The node does not have our key.
    Absent,
    /// The node gave no answer within this time.
    NoAnswer(Duration),
    /// The node gave no answer within this time. But this process did not run when the time was up, so the node may not
    /// be at fault.
    StoodStill(Duration),
    /// The other nodes' answers decided the round before this node's time was up. The node is not at fault.
    NotAwaited,
    /// The node granted an extension, but its vote does not count yet. Its key came late or was restored, so another
    /// client may have held the lock before.
    NotCounted,
    /// The node could not serve the request.
    Failed(NodeError),
}

impl NodeReport {
    /// Reports the nodes without a grant, from a round that took `elapsed`. A grant counts only if its seat is in
    /// `counted`. A missing answer is blamed on its node only if the node had the whole `timeout`, and this process
    /// noticed the end of the timeout in time.
    pub(crate) fn of_round<'a>(
        names: impl Iterator<Item = &'a str>,
        answers: Vec<Option<Vote>>,
        counted: u64,
        elapsed: Duration,
        timeout: Duration,
    ) -> Vec<Self> {
        // The timeout is zero if the caller's time was over when the attempt began.
        let late = elapsed.saturating_sub(timeout);
        let stood_still = timeout.is_zero() || late >= timeout.max(TIMER_DELAY);
        names
            .zip(answers)
            .enumerate()
            .filter_map(|(seat, (name, answer))| {
                let outcome = match answer {
                    Some(Vote::Granted { .. }) if counted & bit(seat) != 0 => return None,
                    Some(Vote::Granted { .. }) => NodeOutcome::NotCounted,
                    Some(Vote::Held(_)) => NodeOutcome::Held,
                    Some(Vote::Absent) => NodeOutcome::Absent,
                    Some(Vote::Failed(error)) => NodeOutcome::Failed(error),
                    None if elapsed < timeout => NodeOutcome::NotAwaited,
                    None if stood_still => NodeOutcome::StoodStill(elapsed),
                    None => NodeOutcome::NoAnswer(elapsed),
                };
                Some(Self {
                    name: name.into(),
                    outcome,
                })
            })
            .collect()
    }
}

impl fmt::Display for NodeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match &self.outcome {
            NodeOutcome::Held => f.write_str("held by another client"),
            NodeOutcome::Absent => f.write_str("the key is gone"),
            NodeOutcome::NoAnswer(elapsed) => write!(f, "no answer in {}", Brief(*elapsed)),
            NodeOutcome::StoodStill(elapsed) => {
                write!(f, "no answer in {}: {STOOD_STILL}", Brief(*elapsed))
            }
            NodeOutcome::NotAwaited => f.write_str("not waited for"),
            NodeOutcome::NotCounted => f.write_str(
                "granted, but does not count yet: its key came late or was put back; it counts once a \
                 majority of the others has granted another extension",
            ),
            NodeOutcome::Failed(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_awaited = |node: &NodeReport| !matches!(node.outcome, NodeOutcome::NotAwaited);
        let is_undecided = self.attempts == 0 && self.too_late.is_none();
        if is_undecided && !self.nodes.iter().any(is_awaited) {
            // The caller only waited in line, so all nodes are free of blame.
            let gave_up = GaveUp(0, self.waited);
            return write!(f, "{gave_up}, before the nodes answered them");
        }
        let (granted, configured) = (self.granted, self.granted + self.nodes.len());
        write!(f, "{granted} of {configured} nodes voted, ")?;
        match self.too_late {
            None => write!(f, "{} needed", self.needed)?,
            Some(TooLate::Validity(left)) => write!(
                f,
                "but so late that {} of validity was left; raise the ttl",
                Brief(left)
            )?,
            Some(TooLate::Timeout(timeout)) => write!(
                f,
                "but not within {}; raise `node_timeout` if that is usual",
                Brief(timeout)
            )?,
        }
        for node in &self.nodes {
            write!(f, "; {node}")?;
        }
        if self.attempts != 1 || self.gave_up_early {
            write!(f, "; {}", GaveUp(self.attempts, self.waited))?;
        }
        if self.gave_up_early {
            f.write_str(", before its `wait` was over: no majority answered this process's last two retries")?;
        }
        Ok(())
    }
}

impl std::error::Error for Unavailable {}

/// Writes the number of attempts and their time.
struct GaveUp(u32, Duration);

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waited = Brief(self.1);
        match self.0 {
            0 => write!(
                f,
                "gave up after {waited} behind other callers of this process"
            ),
            1 => write!(f, "gave up after 1 attempt in {waited}"),
            n => write!(f, "gave up after {n} attempts in {waited}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{NodeErrorKind, Remaining};

    fn contended(holding: Holding) -> Contended {
        Contended {
            holding,
            name: None,
            attempts: 3,
            waited: Duration::from_millis(410),
            waiters: 0,
            shortage: None,
        }
    }

    #[test]
    fn contended_names_the_holder_and_the_remaining_time() {
        let token = format!("web-7/3121/{} job 7", "0f".repeat(16));
        let mut holding = Holding::by(token.into_bytes());
        holding.remaining = Remaining::Expires(Duration::from_millis(12_345));
        let error = contended(holding);
        let text = "held by web-7/3121 (`job 7`) for 12 s more; gave up after 3 attempts in 410 ms";
        assert_eq!(error.to_string(), text);
        let name = Some(Resource::from("b"));
        let of_several = Contended { name, ..error }.to_string();
        let begin = "held by web-7/3121 (name `b`) (`job 7`) for 12 s more; ";
        assert!(of_several.starts_with(begin), "{of_several}");
    }

    #[test]
    fn the_quarantine_left_is_over_once_a_majority_may_vote() {
        let left = |granted: usize, quarantines: &[u64]| {
            let report = |seconds: &u64| {
                let mut error = NodeError::unsent(NodeErrorKind::Quarantined, "it restarted");
                error.quarantine_left = Duration::from_secs(*seconds);
                let outcome = NodeOutcome::Failed(error);
                let name = "a".into();
                NodeReport { name, outcome }
            };
            let nodes: Vec<_> = quarantines.iter().map(report).collect();
            let configured = granted + nodes.len();
            let error = Unavailable::in_one_attempt(configured, nodes, Duration::ZERO);
            error.quarantine_left().as_secs()
        };
        assert_eq!(left(1, &[20, 10]), 10);
        assert_eq!(left(0, &[20, 30, 10]), 20);
        // A node that is down for another reason may vote at any moment.
        assert_eq!(left(0, &[20, 0, 10]), 10);
        assert_eq!(left(0, &[0, 10, 0]), 0);
        // A majority granted, but too late.
        assert_eq!(left(2, &[10]), 0);
    }

    #[test]
    fn a_key_that_is_no_lock_is_said_to_be_so() {
        let never = Holding::unknown(Remaining::Never);
        let long = Holding::by(vec![b'x'; 1000]);
        for (holding, words) in [
            (never, "by a key that never expires: "),
            (long, "by a value that is too long for a token: "),
        ] {
            let text = contended(holding).to_string();
            let words = format!("{words}that is no lock; choose another resource or `key_prefix`");
            assert!(text.contains(&words), "{text}");
        }
    }
}
