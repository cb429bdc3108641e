//! What is held, and how the nodes are doing, as a registry says it and as it is served.

mod documents;
mod nodes;
mod overview;
mod served;

use redlock_runtime::{Config, Redlock};

async fn start(config: Config) -> Redlock {
    Redlock::start(config).await.expect("a good configuration")
}

/// A registry over nodes in the process.
async fn in_memory() -> Redlock {
    let pools = ["a", "b", "c"].into_iter();
    let config = pools.fold(Config::new(), |config, name| {
        config.pool(name, format!("memory://{name}"))
    });
    start(config).await
}
