//! What is held, and how the nodes are doing, as a registry says it and as it is served.

mod documents;
mod nodes;
mod overview;
mod served;

use redlock_runtime::{Config, Redlock};

async fn start(config: Config) -> Redlock {
    Redlock::start(config).await.expect("a good configuration")
}

/// Pools of these names, with nodes in the process.
fn pools<const N: usize>(names: [&str; N]) -> Config {
    names.into_iter().fold(Config::new(), |config, name| {
        config.pool(name, format!("memory://{name}"))
    })
}

async fn in_memory() -> Redlock {
    start(pools(["a", "b", "c"])).await
}
