//! The outcome of an acquisition, as spans and metrics name it.

use crate::error::{LockError, LockErrorKind};

/// How an acquisition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AcquireOutcome {
    Acquired,
    /// The call shares the lease of a call above.
    Joined,
    Contended,
    /// The lock was contended, and `if_locked = "skip"` is set.
    Skipped,
    /// The job ran already in this period.
    AlreadyRun,
    Unavailable,
    /// The lease of the call above, which was to be shared, is over.
    Lost,
    ShuttingDown,
    NotInitialized,
    UnknownPool,
    Invalid,
    /// The caller dropped the acquisition before it ended.
    Cancelled,
}

/// The kind of an error as a word.
pub(crate) fn kind_of(error: &LockError) -> &'static str {
    AcquireOutcome::of(error, false).name()
}

impl AcquireOutcome {
    pub(crate) fn of(error: &LockError, skips: bool) -> Self {
        match error.kind() {
            LockErrorKind::Contended(_) if skips => Self::Skipped,
            LockErrorKind::Contended(_) => Self::Contended,
            LockErrorKind::AlreadyRun(_) => Self::AlreadyRun,
            LockErrorKind::Unavailable(_) => Self::Unavailable,
            LockErrorKind::Lost(_) => Self::Lost,
            LockErrorKind::ShuttingDown | LockErrorKind::Dropped => Self::ShuttingDown,
            LockErrorKind::NotInitialized => Self::NotInitialized,
            LockErrorKind::UnknownPool { .. } => Self::UnknownPool,
            LockErrorKind::Invalid(_) => Self::Invalid,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Joined => "joined",
            Self::Contended => "contended",
            Self::Skipped => "skipped",
            Self::AlreadyRun => "already_run",
            Self::Unavailable => "unavailable",
            Self::Lost => "lost",
            Self::ShuttingDown => "shutting_down",
            Self::NotInitialized => "not_initialized",
            Self::UnknownPool => "unknown_pool",
            Self::Invalid => "invalid",
            Self::Cancelled => "cancelled",
        }
    }

    /// True if the caller was told of an error. A job that ran already is no error.
    pub(crate) const fn is_error(self) -> bool {
        !matches!(
            self,
            Self::Acquired | Self::Joined | Self::Skipped | Self::AlreadyRun | Self::Cancelled
        )
    }
}
