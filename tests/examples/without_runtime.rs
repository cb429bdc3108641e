//! A `main` that is no async function, for tests of what dropping the handle does there.
//!
//! `without_runtime WHAT` takes the lock `r`, says `held, listening on ADDRESS`, and goes on when
//! a client connects there. WHAT is
//! * `bare`: a lease without a body, which outlives its runtime; both go before the handle
//! * `body`: a task, which ends with its runtime, before the handle
//! * `running`: a task, whose runtime is still there when the handle goes

use std::error::Error;
use std::io;
use std::net::TcpListener;
use std::time::Duration;

use redlock_runtime::{Config, lock};
use tokio::runtime::Runtime;

const TTL: Duration = Duration::from_secs(120);

fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let what = std::env::args().nth(1).unwrap_or_default();
    let runtime = Runtime::new()?;
    let redlock = runtime.block_on(redlock_runtime::init(Config::load()?))?;
    let bare = match what.as_str() {
        "bare" => Some(runtime.block_on(lock("r").ttl(TTL).acquire())?),
        "body" | "running" => {
            let (begun, has_begun) = tokio::sync::oneshot::channel();
            runtime.spawn(lock("r").ttl(TTL).run(async move {
                // The other side waits for it.
                let _ = begun.send(());
                std::future::pending::<()>().await;
            }));
            runtime.block_on(has_begun)?;
            None
        }
        _ => return Err("bare, body or running".into()),
    };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("held, listening on {}", listener.local_addr()?);
    listener.accept()?;

    if what == "running" {
        drop(redlock);
        println!("dropped");
        return Ok(());
    }
    drop(runtime);
    drop(redlock);
    println!("dropped");
    // It was told, and released, by the handle's drop.
    if let Some(lease) = bare
        && !lease.validity().is_zero()
    {
        return Err("the lease is still valid".into());
    }
    Ok(())
}
