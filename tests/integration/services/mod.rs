//! Services as processes of their own, on real Redis servers.

mod disconnect;
mod exit;
pub(crate) mod fleet;
mod load;
mod shutdown;
mod sigterm;

use std::time::Duration;

/// For what must come.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Both frameworks, for what has to be true of each.
const FRAMEWORKS: [&str; 2] = ["orders axum", "orders actix"];
