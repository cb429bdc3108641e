//! One acquisition, as tests see it.

use std::fmt;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::error::{Brief, LeaseEnd};
use redlock_core::lease::FencingToken;

use crate::error::LockError;
use crate::site::Site;

/// One call's acquisition of its lock.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let locks = redlock_runtime::testing::TestLocks::new();
/// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
/// let acquisition = &locks.acquisitions()[0];
/// assert_eq!(acquisition.pools, ["a", "b", "c"]);
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Acquisition {
    /// The resource that the call asked for, without the key prefix.
    pub resource: Resource,
    /// The annotated function, or the place of the call of [`lock`](crate::lock()).
    pub site: &'static Site,
    /// The pools of the lock. Empty if the call was refused before the pools were decided, for an
    /// unknown pool or an invalid value.
    pub pools: Vec<String>,
    /// The ttl of the call; zero if there are no pools.
    pub ttl: Duration,
    /// True if the call ran below a holder of the same resource, and shared that lease.
    pub is_shared: bool,
    /// The fencing token, if the call asked for one.
    pub fencing_token: Option<FencingToken>,
    /// How the acquisition ended.
    pub outcome: Outcome,
}

/// How an acquisition ended.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let locks = redlock_runtime::testing::TestLocks::new();
/// use redlock_runtime::testing::Outcome;
///
/// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
/// assert!(matches!(locks.acquisitions()[0].outcome, Outcome::Released));
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The call waits.
    Waiting,
    /// The caller dropped the call before it had an answer.
    Dropped,
    /// The call did not get the lock. A call with `if_locked = "skip"` was skipped if the error is
    /// [contended](LockError::is_contended), or if the job [ran already](LockError::is_already_run).
    Refused(LockError),
    /// The call holds the lock now.
    Held,
    /// The call held the lock until its body returned, or until the lease was released or dropped.
    Released,
    /// The body was cut off: the caller dropped the call, or the body panicked.
    CutOff,
    /// The lease ended before the call released it.
    Lost(LeaseEnd),
}

impl Acquisition {
    /// True if the call got the lock, even briefly.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// assert!(locks.acquisitions()[0].was_locked());
    /// # }
    /// ```
    pub fn was_locked(&self) -> bool {
        matches!(
            self.outcome,
            Outcome::Held | Outcome::Released | Outcome::CutOff | Outcome::Lost(_)
        )
    }

    /// True if the call holds the lock now.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let _lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// assert!(locks.acquisitions()[0].is_held());
    /// # }
    /// ```
    pub fn is_held(&self) -> bool {
        matches!(self.outcome, Outcome::Held)
    }

    /// True if the call locked every name of `resource`.
    pub(super) fn is_of(&self, resource: &Resource) -> bool {
        covers(&self.resource, resource)
    }
}

/// True if all names of `part` are in `whole`.
pub(super) fn covers(whole: &Resource, part: &Resource) -> bool {
    let mut names = part.names();
    names.len() > 0 && names.all(|name| whole.names().any(|other| other == name))
}

/// `` `order:42` by `shop::charge` on a, b, c for 1 min: released ``
impl fmt::Display for Acquisition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` by `{}`", self.resource, self.site.site_name())?;
        if !self.pools.is_empty() {
            write!(f, " on {} for {}", self.pools.join(", "), Brief(self.ttl))?;
        }
        if self.is_shared {
            f.write_str(", shared with its caller")?;
        }
        write!(f, ": {}", self.outcome)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waits for it"),
            Self::Dropped => f.write_str("dropped while it waited"),
            Self::Refused(error) => write!(f, "refused, as {error}"),
            Self::Held => f.write_str("held now"),
            Self::Released => f.write_str("released"),
            Self::CutOff => f.write_str("held, and cut off in its body"),
            Self::Lost(over) => write!(f, "lost: {over}"),
        }
    }
}
