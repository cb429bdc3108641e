//! Tests of the harness itself: a fault that does not happen would let every other test pass.

mod nodes;
#[cfg(target_os = "linux")]
mod processes;
mod services;

use std::time::Duration;

/// For what must come, on a busy machine too.
const LONG: Duration = Duration::from_secs(20);
/// For what must not end during a test.
const HOUR: Duration = Duration::from_secs(3600);
