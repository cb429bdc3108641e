//! The call or task whose code is running.

use super::{ProcessId, World};

/// The number of an acquisition, from 0.
pub type CallId = usize;

/// The future that is being polled or dropped now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Polled {
    /// The process that may be stopped wherever it reads its clock.
    pub(super) stoppable: Option<ProcessId>,
    /// The acquisition whose doing this is.
    call: Option<CallId>,
}

impl World {
    /// Polls an acquisition of `process`, in which no lock of core's is held while the clock is
    /// read: so it can be stopped there.
    pub(crate) fn acquiring<T>(
        &self,
        process: ProcessId,
        call: CallId,
        poll: impl FnOnce() -> T,
    ) -> T {
        let (stoppable, call) = (Some(process), Some(call));
        self.as_polled(Polled { stoppable, call }, poll)
    }

    /// Drops an acquisition. Operations that are submitted meanwhile are recorded as those of `call`.
    pub(crate) fn dropping<T>(&self, call: CallId, drop: impl FnOnce() -> T) -> T {
        let (stoppable, call) = (None, Some(call));
        self.as_polled(Polled { stoppable, call }, drop)
    }

    /// Looks at something in a process without stopping it.
    pub(crate) fn observing<T>(&self, look: impl FnOnce() -> T) -> T {
        self.as_polled(Polled::default(), look)
    }

    fn as_polled<T>(&self, polled: Polled, work: impl FnOnce() -> T) -> T {
        let outer = std::mem::replace(&mut self.lock().polled, polled);
        let output = work();
        self.lock().polled = outer;
        output
    }

    /// The acquisition whose doing this is.
    pub(crate) fn call(&self) -> Option<CallId> {
        self.lock().polled.call
    }
}
