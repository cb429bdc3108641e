//! Which runtime the callers of a node are in, and which one serves its connection.

use std::task::Waker;

use tokio::runtime::{Handle, Id};

/// The number of operations in a row, each of them the first behind a look of the driver that found none, and
/// all from one runtime, after which the connection is lent to that runtime.
const STREAK: u32 = 16;
/// The most that the number doubles to. See [`Loan::returned`].
const LONGEST_STREAK: u32 = 16_384;
/// A loan is of use if it serves this many times as many operations as it took to lend the connection.
const OF_USE: u32 = 16;

/// See the [module](self).
pub(super) struct Loan {
    /// True if the driver's last look found nothing, and no operation came since.
    pub(super) is_idle: bool,
    /// The runtime of the last operations that met an idle driver, and their number in a row.
    streak: Option<(Id, u32)>,
    /// The number of operations in a row after which the connection is lent.
    longest: u32,
    /// The runtime whose streak was long enough. The streak says whether it goes on.
    pub(super) wanted: Option<Handle>,
    /// The runtime that the connection is lent to, and the driver that lent it.
    lent: Option<(Id, Waker)>,
    /// The number of operations that this runtime submitted since.
    used: u32,
    pub(super) is_recalled: bool,
    /// A runtime that watches no sockets.
    refused: Option<Id>,
}

impl Default for Loan {
    fn default() -> Self {
        Self::after(STREAK)
    }
}

impl Loan {
    fn after(longest: u32) -> Self {
        Self {
            is_idle: false,
            streak: None,
            longest,
            wanted: None,
            lent: None,
            used: 0,
            is_recalled: false,
            refused: None,
        }
    }

    /// Records that the current thread submits an operation. Returns the driver to wake, if the connection
    /// is lent to another runtime: its thread may stand still, and must not delay others.
    pub(super) fn used(&mut self) -> Option<Waker> {
        let is_idle = std::mem::take(&mut self.is_idle);
        if let Some((id, driver)) = &self.lent {
            if self.is_recalled || Handle::try_current().is_ok_and(|handle| handle.id() == *id) {
                self.used = self.used.saturating_add(1);
                return None;
            }
            self.is_recalled = true;
            return Some(driver.clone());
        }
        if !is_idle {
            return None;
        }
        let Ok(runtime) = Handle::try_current() else {
            self.streak = None;
            return None;
        };
        let id = runtime.id();
        let before = self.streak.filter(|(last, _)| *last == id);
        let count = before.map_or(0, |(_, count)| count).saturating_add(1);
        if count >= self.longest && self.wanted.is_none() {
            self.wanted = Some(runtime);
        }
        self.streak = Some((id, count));
        None
    }

    /// True if the connection may be lent to `runtime`: its streak goes on, and it watches sockets.
    pub(super) fn may_have(&self, runtime: &Handle) -> bool {
        self.streak.is_some_and(|(id, count)| {
            id == runtime.id() && count >= self.longest && self.refused != Some(id)
        })
    }

    pub(super) fn lent(&mut self, runtime: Id, driver: Waker) {
        self.lent = Some((runtime, driver));
        self.used = 0;
        self.is_recalled = false;
    }

    #[cfg(test)]
    pub(super) fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Records that the driver serves the connection again. If the runtime left operations `unsent` early in the
    /// loan, the next streak must be twice as long: some programs drive a runtime for one call at a time, and then
    /// a release would wait for the library's look. A loan of use halves the length: any runtime may stand still
    /// for a moment. Returns what was recorded before, to be dropped without the mutex.
    pub(super) fn returned(&mut self, is_unsent: bool) -> Self {
        let longest = if self.used >= OF_USE * self.longest {
            (self.longest / 2).max(STREAK)
        } else if is_unsent {
            (self.longest * 2).min(LONGEST_STREAK)
        } else {
            self.longest
        };
        let now = Self {
            refused: self.refused,
            ..Self::after(longest)
        };
        std::mem::replace(self, now)
    }

    /// Like [`returned`](Self::returned): the runtime watches no sockets. It is not asked again, also on the
    /// node's later connections.
    pub(super) fn refused(&mut self) -> Self {
        let before = self.returned(false);
        self.refused = before.lent.as_ref().map(|(id, _)| *id);
        before
    }
}
