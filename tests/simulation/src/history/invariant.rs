//! The rules that hold in every run.

use std::fmt;
use std::time::Duration;

/// A rule that must hold in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// Two leases of one name were valid at once.
    Exclusion,
    /// More permits of a name were held at once than there are.
    TooManyPermits,
    /// Two leases of one name have one fencing token.
    TokenUnique,
    /// A later lease has a lower fencing token. A lease that was taken over counts from its acquisition, unless it is
    /// valid where holders exclude each other.
    TokenOrder,
    /// A fencing token is further ahead of the nodes' clocks than a hint may be.
    TokenAhead,
    /// A release removed a key that was not its own.
    ForeignRelease,
    /// An operation changed a key, or lowered a counter, that it must not touch.
    ForeignChange,
    /// A reader's entry was made, moved or removed by an operation that must not touch it, or the key lives
    /// for another time than the entry that lasts longest.
    Entry,
    /// The release of an attempt that failed took back the intent of a writer that waits.
    Intent,
    /// A lease claims to be valid for longer than its ttl less the drift, from its beginning.
    Validity,
    /// A lease rests on votes that came after its end.
    LateVotes,
    /// A node was asked twice to grant one token.
    SetTwice,
    /// A key was put back without a majority that had just vouched for the lock.
    Unproven,
    /// An extension began behind the release of the same lock.
    ExtendedReleased,
    /// A lock went to the next holder of its process as it was, and is still held by the one before.
    HandedOverAlive,
    /// A lock went to the next holder of its process as it was, and was not as good as new, or not
    /// what was asked for.
    TakenOver,
    /// A process handed a lock over to its own callers for longer than it may, or asked for it at
    /// once when it had to leave it to others.
    Hogged,
    /// A lease has no fencing token, and one was wanted.
    Unfenced,
    /// A caller was given the lock before another one of its process that had come earlier.
    Overtaken,
    /// A process got permits again and again before a caller of another one that waited and was at hand.
    Starved,
    /// Callers stood in line, and no caller used the turn.
    Idle,
    /// A caller asked the nodes more often than it had a reason to.
    Storm,
    /// A caller went on pausing though it was told that the lock was free.
    Unwoken,
    /// A caller was told that no majority answered, though a majority had said that the lock is held.
    ReadAsDown,
    /// A release that was confirmed left a majority with the key.
    FalselyConfirmed,
    /// A key stayed behind although its lock was released.
    Leftover,
    /// An extension succeeded although someone else held the lock since it was acquired.
    Interrupted,
    /// A lease was given up although a majority of the nodes has had its key all the time.
    GivenUp,
    /// A lease ended, and nothing that has happened is a cause of that.
    Uncaused,
    /// A lease that was over is valid again.
    Revived,
    /// A lease goes on although its client was told that too many nodes may have forgotten it.
    Unvouched,
    /// A call took longer than it may, or never ended.
    Settles,
    /// With a majority up and all faults over, an acquisition did not succeed.
    Liveness,
}

/// A broken rule.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The rule.
    pub invariant: Invariant,
    /// When, on the common clock.
    pub at: Duration,
    /// The details.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}: {}", self.invariant, self.at, self.text)
    }
}
