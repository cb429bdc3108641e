//! Callers that compete for locks, as a load for the dashboard.

use std::time::Duration;

use axum::extract::Path;
use redlock_runtime::election;
use tokio::task::JoinSet;

use crate::{charge, report};

/// The number of orders that all callers want.
const ORDERS: u64 = 5;

/// The longest term of the office.
const TERM: Duration = Duration::from_secs(5);

/// How many callers there are: `TELEMETRY_CALLERS`, 12 by default.
pub(crate) fn callers() -> Result<u64, String> {
    match std::env::var("TELEMETRY_CALLERS") {
        Err(_) => Ok(12),
        Ok(text) => text
            .parse()
            .map_err(|_| format!("TELEMETRY_CALLERS is `{text}`, which is no number of callers")),
    }
}

/// Starts them, and a candidate for an office of short terms. They end when this is dropped.
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
    load.spawn(async {
        let election = election("reindex").name("reindex").max_term(TERM);
        let led = election
            .run(async |term| while term.proceed().await {})
            .await;
        if let Err(error) = led {
            tracing::warn!(%error, "no candidate");
        }
    });
    load
}
