//! A transfer that locks two accounts at once, or neither. Transfers in opposite directions cause no deadlock.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! echo 100 > /tmp/account-1; echo 0 > /tmp/account-2
//! cargo run --example transfer &                # listening on 127.0.0.1:3000
//! curl -i --json '{"from": 1, "to": 2, "cents": 30}' localhost:3000/transfers
//! ```
//!
//! The accounts are files here, and stand for stores that share no transaction. In one database, take its transaction
//! and no lock.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use redlock_runtime::{Config, LockError, redlock, shutdown_signal};
use serde::Deserialize;
use tokio::fs;
use tokio::net::TcpListener;

#[derive(Deserialize)]
struct Transfer {
    from: u64,
    to: u64,
    cents: u64,
}

/// Moves money between two accounts. The order of the names does not matter, and `from == to` is one lock.
#[redlock(
    resource = ["account:{transfer.from}", "account:{transfer.to}"],
    ttl = "10s",
    wait = "10s"
)]
async fn move_money(accounts: &Accounts, transfer: &Transfer) -> Result<(), AppError> {
    let Transfer { from, to, cents } = *transfer;
    let left = accounts.balance(from).await?.checked_sub(cents);
    let left = left.ok_or(AppError::NotEnough)?;
    // A crash after this write loses the money, because a lock is no transaction. A real service writes the transfer
    // down first, and completes at its next start what it finds.
    accounts.set_balance(from, left).await?;
    let balance = accounts.balance(to).await?;
    accounts
        .set_balance(to, balance.saturating_add(cents))
        .await
}

async fn transfer(
    State(accounts): State<Accounts>,
    Json(transfer): Json<Transfer>,
) -> Result<StatusCode, AppError> {
    move_money(&accounts, &transfer).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A file for each account, with its balance.
#[derive(Clone)]
struct Accounts(PathBuf);

impl Accounts {
    async fn balance(&self, id: u64) -> Result<u64, AppError> {
        let text = fs::read_to_string(self.path(id)).await?;
        Ok(text.trim().parse().map_err(io::Error::other)?)
    }

    async fn set_balance(&self, id: u64, cents: u64) -> Result<(), AppError> {
        Ok(fs::write(self.path(id), cents.to_string()).await?)
    }

    fn path(&self, id: u64) -> PathBuf {
        self.0.join(format!("account-{id}"))
    }
}

#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("there is not enough money in the account")]
    NotEnough,
    #[error("the accounts: {0}")]
    File(#[from] io::Error),
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            Self::Lock(error) => error.into_response(),
            Self::NotEnough => (StatusCode::CONFLICT, self.to_string()).into_response(),
            Self::File(error) => {
                tracing::error!(%error, "cannot access an account");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let folder = std::env::var_os("DATA_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let app = Router::new()
        .route("/transfers", post(transfer))
        .with_state(Accounts(folder));
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    // `None`: connections were still open at the deadline.
    Ok(ended.unwrap_or(Ok(()))?)
}
