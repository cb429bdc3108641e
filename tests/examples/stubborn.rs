//! Bodies that never yield, for tests of what a shutdown can do about them.
//!
//! `stubborn axum` and `stubborn actix` are services whose `POST /spin` holds the lock `spin` and
//! never comes back. `stubborn alone` does so on the only thread of its runtime, as does
//! `stubborn waiting`, whose `shutdown_signal()` was polled once and dropped before.

use std::error::Error;
use std::io;
use std::time::Duration;

use actix_web::{App, HttpServer};
use redlock_runtime::registry::ShutdownReport;
use redlock_runtime::{Config, LockError, Redlock, redlock, shutdown_signal};

#[redlock(resource = "spin", ttl = "2m")]
async fn spin() -> Result<&'static str, LockError> {
    println!("spinning");
    loop {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[actix_web::post("/spin")]
async fn actix_spin() -> Result<&'static str, LockError> {
    spin().await
}

fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let mode = std::env::args().nth(1).unwrap_or_default();
    match mode.as_str() {
        "axum" => tokio::runtime::Runtime::new()?.block_on(on_axum()),
        "actix" => actix_web::rt::System::new().block_on(on_actix()),
        "alone" | "waiting" => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(alone(mode == "waiting")),
        _ => Err("axum, actix, alone or waiting".into()),
    }
}

async fn start() -> Result<Redlock, Box<dyn Error>> {
    Ok(redlock_runtime::init(Config::load()?).await?)
}

async fn on_axum() -> Result<(), Box<dyn Error>> {
    let redlock = start().await?;
    let app = axum::Router::new().route("/spin", axum::routing::post(spin));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    end(ended.is_some(), &report)
}

async fn on_actix() -> Result<(), Box<dyn Error>> {
    let redlock = start().await?;
    let server = HttpServer::new(|| App::new().service(actix_spin))
        .workers(2)
        .shutdown_signal(shutdown_signal())
        .bind(("127.0.0.1", 0))?;
    println!("listening on {}", server.addrs()[0]);
    let (ended, report) = redlock.shutdown_after(server.run()).await;
    end(ended.is_some(), &report)
}

/// `main`'s return would wait for the body, where it runs on tokio's threads.
fn end(is_served: bool, report: &ShutdownReport) -> ! {
    println!("served to the end: {is_served}; {report}");
    std::process::exit(if report.stuck.is_empty() { 0 } else { 3 })
}

async fn alone(is_dropped: bool) -> Result<(), Box<dyn Error>> {
    let _redlock = start().await?;
    let mut signal = Box::pin(shutdown_signal());
    // Polled once: from here on the process listens.
    let polled = std::future::poll_fn(|context| signal.as_mut().poll(context).map(Some));
    tokio::select! {
        biased;
        _ = polled => return Err("no signal has been sent".into()),
        () = std::future::ready(()) => {}
    }
    if is_dropped {
        drop(signal);
        println!("waits for nothing");
        return std::future::pending().await;
    }
    spin().await?;
    Ok(())
}
