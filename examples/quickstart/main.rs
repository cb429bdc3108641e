//! A tour of the library in a few seconds: a small axum service whose handlers run under
//! `#[redlock]`, and clients that send it requests.
//!
//! ```sh
//! cargo run --example quickstart
//! ```
//!
//! needs no server: the three nodes are embedded, `memory://a` to `memory://c`. With real ones it
//! takes what the configuration says, and puts a small proxy in front of each so that it can "lose"
//! a node without touching the server:
//!
//! ```sh
//! for port in 7001 7002 7003; do redis-server --port $port --save '' --daemonize yes; done
//!
//! export REDLOCK_POOLS_A_URL=redis://127.0.0.1:7001
//! export REDLOCK_POOLS_B_URL=redis://127.0.0.1:7002
//! export REDLOCK_POOLS_C_URL=redis://127.0.0.1:7003
//! cargo run --example quickstart
//! ```
//!
//! It locks `order:1` and the like for moments; `REDLOCK_KEY_PREFIX=quickstart:` keeps that apart
//! from what else is on the nodes.
//!
//! * `service.rs` is what an application would write.
//! * `nodes.rs` chooses the nodes, and loses them.
//! * `story.rs` sends the requests; `client.rs`, `diary.rs` and `chart.rs` help it to show what
//!   happened.

mod chart;
mod client;
mod diary;
mod nodes;
mod proxy;
mod service;
mod story;
mod summary;

use std::error::Error;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

use client::Client;
use nodes::Nodes;
use service::Shop;
use story::Story;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (config, mut nodes) = Nodes::choose().await?;
    // A service gives its requests more time to finish: ten seconds, unless it says otherwise.
    let config = config
        .shutdown_grace(Duration::from_secs(2))
        .shutdown_deadline(Duration::from_secs(10));
    let redlock = redlock_runtime::init(config).await?;
    nodes.watch(redlock.registry());

    let shop = Shop::default();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = Client::new(listener.local_addr()?);
    let (running, ended) = oneshot::channel::<()>();
    let app = service::router(shop.clone());
    // A service of its own would be stopped by `redlock_runtime::shutdown_signal()` here.
    let server = axum::serve(listener, app).with_graceful_shutdown(async move {
        // An error, and meant to be: `running` is dropped at the end of the tour.
        let _ = ended.await;
    });
    let server = tokio::spawn(server.into_future());

    Story::new(client, shop, nodes).tell(redlock).await?;

    drop(running);
    server.await??;
    Ok(())
}
