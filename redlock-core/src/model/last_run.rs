//! The error of a job that has already run in its period.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::brief::Brief;

/// The run of a job that the nodes remember. The job does not run again until the rest of its period has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastRun {
    /// The `host/pid` of the process that ran the job. `None` if the record has another client's format.
    pub owner: Option<Arc<str>>,
    /// The time at which the run began, by the clock of that process. `None` in the same case.
    pub began: Option<SystemTime>,
    /// The time until the job may run again. A majority of the nodes has forgotten the run by that time.
    pub next_in: Duration,
}

impl fmt::Display for LastRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("run already in this period: ")?;
        match &self.owner {
            Some(owner) => f.write_str(owner)?,
            None => f.write_str("another client")?,
        }
        match self.began {
            Some(began) => write!(f, " began at {}", humantime::format_rfc3339_seconds(began))?,
            None => f.write_str(" left a record of it")?,
        }
        write!(f, "; it may run again in {}", Brief(self.next_in))
    }
}

impl std::error::Error for LastRun {}
