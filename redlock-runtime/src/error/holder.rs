//! The holder of a refused lock, if it is in this process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::error::Brief;

use super::LockError;
use crate::site::Site;

/// A holder in the process of a refused call, as the error names it.
#[derive(Clone, Debug)]
pub(crate) struct HolderHere {
    pub(crate) site: &'static Site,
    /// The names that it has, if they are not those that the refused call wanted.
    pub(crate) others: Option<Resource>,
    /// For how long it has the lock by now.
    pub(crate) held: Duration,
}

impl LockError {
    /// The same error with the holder, if it is in this process.
    pub(crate) fn held_here(mut self, holder: Option<HolderHere>) -> Self {
        // Nobody else has it yet: it was just made.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.holder = holder;
        }
        self
    }
}

impl HolderHere {
    /// The holder in a few words.
    pub(crate) fn name(&self) -> String {
        format!("{} in this process", self.site)
    }
}

impl fmt::Display for HolderHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "; the holder is {}, ", self.name())?;
        if let Some(others) = &self.others {
            write!(f, "which has `{others}`, ")?;
        }
        write!(f, "for {} now", Brief(self.held))
    }
}
