use axum::{Router, extract::Path, routing::post};
use redlock_runtime::{Config, LockError, redlock};

#[redlock(resource = "order:{order_id}", ttl = "1m")]
async fn charge(Path(order_id): Path<u64>) -> Result<String, LockError> {
    tokio::time::sleep(std::time::Duration::from_secs(2)).await; // the work
    Ok(format!("order {order_id} charged\n"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let redlock = redlock_runtime::init(Config::load()?).await?; // redlock.toml and REDLOCK_*
    let app = Router::new().route("/orders/{order_id}/charge", post(charge));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    let server =
        axum::serve(listener, app).with_graceful_shutdown(redlock_runtime::shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    Ok(ended.unwrap_or(Ok(()))?) // `None`: the server had not ended by the deadline
}
