//! Callers who want more than there is.

use std::time::Duration;

use axum::extract::Path;
use tokio::task::JoinSet;

use crate::{charge, report};

/// The number of orders that all callers want.
const ORDERS: u64 = 5;

/// How many callers there are: `TELEMETRY_CALLERS`, 12 by default.
pub(crate) fn callers() -> Result<u64, String> {
    match std::env::var("TELEMETRY_CALLERS") {
        Err(_) => Ok(12),
        Ok(text) => text
            .parse()
            .map_err(|_| format!("TELEMETRY_CALLERS is `{text}`, which is no number of callers")),
    }
}

/// Starts them. They end when this is dropped.
pub(crate) fn start(callers: u64) -> JoinSet<()> {
    let mut load = JoinSet::new();
    for caller in 0..callers {
        load.spawn(async move {
            for turn in caller.. {
                if turn % 10 == 0 {
                    report().await;
                } else if let Err(refused) = charge(Path(turn % ORDERS)).await {
                    // Somebody else has it: what a client does that was told 423.
                    tracing::debug!(%refused, "again later");
                }
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        });
    }
    load
}
