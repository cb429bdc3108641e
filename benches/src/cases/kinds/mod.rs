//! Locks of several kinds: plain ones, permits, readers and writers.

mod uncontended;
mod writer;

pub use uncontended::kinds;
pub use writer::kinds_writer;

use std::time::Duration;

/// How long our nodes try to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
