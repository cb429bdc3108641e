//! A service whose bodies last, for tests of signals, shutdowns and clients that hang up.
//!
//! `orders axum` and `orders actix` have `POST /orders/{id}/charge`, which takes `ORDERS_WORK_MS`; `…/slow`, which
//! takes a minute; `…/batch`, which ends when it is asked to; and `POST /spin`, which never yields. They write to the
//! log `ORDERS_LOG` when they are inside. `orders alone` spins on the only thread of its runtime. `orders waiting` does
//! nothing, after its `shutdown_signal()` was polled once and dropped.

use std::error::Error;
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::{App, HttpServer, web};
use axum::extract::Path;
use axum::routing::post;
use redlock_runtime::registry::ShutdownReport;
use redlock_runtime::{Config, LeaseHandle, LockError, Redlock, redlock, shutdown_signal};
use redlock_tests::CriticalLog;
use tokio::time::{sleep, timeout};

const MINUTE: Duration = Duration::from_secs(60);

static LOG: LazyLock<CriticalLog> = LazyLock::new(|| {
    let path = std::env::var_os("ORDERS_LOG");
    CriticalLog::open(path.expect("ORDERS_LOG is set"))
});

static WORK: LazyLock<Duration> = LazyLock::new(|| {
    let work = std::env::var("ORDERS_WORK_MS").map(|ms| ms.parse());
    Duration::from_millis(work.unwrap_or(Ok(5)).expect("a number"))
});

/// A critical section: who is in, and the resource.
struct Section(String);

impl Section {
    fn enter(lease: &LeaseHandle) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number} {}", std::process::id(), lease.resource());
        LOG.enter(&id);
        Self(id)
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        LOG.leave(&self.0);
    }
}

async fn inside(lease: &LeaseHandle, work: impl Future) -> String {
    let section = Section::enter(lease);
    work.await;
    LOG.done(&section.0);
    format!("{} is done", lease.resource())
}

#[redlock(resource = "order:{id}", ttl = "10s", retry_count = 10, retry_delay = 50, guard = lease)]
async fn charge(id: u64) -> Result<String, LockError> {
    Ok(inside(lease, sleep(*WORK)).await)
}

#[redlock(resource = "order:{id}", ttl = "2m", retry_count = 0, guard = lease)]
async fn slow(id: u64) -> Result<String, LockError> {
    Ok(inside(lease, sleep(MINUTE)).await)
}

#[redlock(resource = "order:{id}", ttl = "2m", retry_count = 0, guard = lease)]
async fn batch(id: u64) -> Result<String, LockError> {
    Ok(inside(lease, timeout(MINUTE, lease.expiring())).await)
}

#[redlock(resource = "spin", ttl = "2m")]
async fn spin() -> Result<&'static str, LockError> {
    println!("spinning");
    loop {
        std::thread::sleep(Duration::from_millis(10));
    }
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
    let app = axum::Router::new()
        .route(
            "/orders/{id}/charge",
            post(async |Path(id)| charge(id).await),
        )
        .route("/orders/{id}/slow", post(async |Path(id)| slow(id).await))
        .route("/orders/{id}/batch", post(async |Path(id)| batch(id).await))
        .route("/spin", post(spin));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (_, report) = redlock.shutdown_after(server).await;
    end(&report)
}

async fn on_actix() -> Result<(), Box<dyn Error>> {
    type Id = web::Path<u64>;
    let redlock = start().await?;
    let server = HttpServer::new(|| {
        App::new()
            .route(
                "/orders/{id}/charge",
                web::post().to(async |id: Id| charge(*id).await),
            )
            .route(
                "/orders/{id}/slow",
                web::post().to(async |id: Id| slow(*id).await),
            )
            .route(
                "/orders/{id}/batch",
                web::post().to(async |id: Id| batch(*id).await),
            )
            .route("/spin", web::post().to(spin))
    })
    .workers(4)
    .h1_allow_half_closed(false)
    .shutdown_signal(shutdown_signal())
    .bind(("127.0.0.1", 0))?;
    println!("listening on {}", server.addrs()[0]);
    let (_, report) = redlock.shutdown_after(server.run()).await;
    end(&report)
}

/// Exits, because a return from `main` would wait for a stuck body that runs on tokio's threads.
fn end(report: &ShutdownReport) -> ! {
    println!("shutdown: {report}");
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
