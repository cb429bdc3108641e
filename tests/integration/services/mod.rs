//! The example services as processes of their own, on real Redis servers.

mod cron;
mod disconnect;
mod exit;
mod fenced_store;
mod fleet;
mod leader;
mod load;
mod lock_history;
mod own_node;
mod quickstart;
mod shutdown;
mod sigterm;
mod telemetry;
mod tower_layer;

use std::time::Duration;

/// For what must come.
const LONG: Duration = Duration::from_secs(20);

/// For a whole story, which takes seconds on an idle machine.
const STORY: Duration = Duration::from_secs(180);

/// Both frameworks, for what has to be true of each.
const FRAMEWORKS: [&str; 2] = ["axum_orders", "actix_orders"];
