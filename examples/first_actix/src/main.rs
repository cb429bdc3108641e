use actix_web::{App, HttpServer, post, web};
use redlock_runtime::{Config, LockError, redlock};

#[post("/orders/{order_id}/charge")]
#[redlock(resource = "order:{order_id}", ttl = "1m")]
async fn charge(order_id: web::Path<u64>) -> Result<String, LockError> {
    tokio::time::sleep(std::time::Duration::from_secs(2)).await; // the work
    Ok(format!("order {order_id} charged\n"))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let redlock = redlock_runtime::init(Config::load()?).await?; // redlock.toml and REDLOCK_*
    let server = HttpServer::new(|| App::new().service(charge))
        .shutdown_signal(redlock_runtime::shutdown_signal())
        .bind(("127.0.0.1", 3000))?
        .run();
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    Ok(ended.unwrap_or(Ok(()))?) // `None`: the server had not ended by the deadline
}
