//! A write to `SQLite` that carries the lock's fencing token. A holder who comes too late changes nothing.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! cargo run --features sqlite --example fenced_write bank.db 30
//! ```
//!
//! withdraws 30 once you have pressed Enter. Run it in two terminals: let the first one wait for more than 5 s, and
//! complete the second one meanwhile. Then press Enter in the first: its lock is over, and the store refuses its write.

use std::error::Error;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use redlock_runtime::{Config, LockError, redlock};
use rusqlite::{Connection, OptionalExtension as _};

const ACCOUNT: i64 = 7;

/// Withdraws an amount, and returns what is left in the account.
///
/// The body goes on after the end of its lock, because the store decides who is too late. By default it is cancelled at
/// its next await, but a process that is frozen between its last await and its write is out of reach.
#[redlock(
    resource = "account:{id}",
    ttl = "5s",
    wait = "20s",
    fencing = true,
    on_lost = "continue",
    guard = lease
)]
async fn withdraw(id: i64, amount: i64, store: &Store) -> Result<i64, WithdrawError> {
    let token = lease.fencing_token().as_i64();
    // Claim before the read. Otherwise an earlier holder could write between this read and this write.
    let balance = store.claim(id, token)?;
    let left = balance.checked_sub(amount).filter(|left| *left >= 0);
    let left = left.ok_or(WithdrawError::NotEnough { balance })?;
    confirm(balance, left).await?;
    store.set_balance(id, left, token)?;
    Ok(left)
}

/// Asks the user, who takes as long as it takes.
async fn confirm(balance: i64, left: i64) -> io::Result<()> {
    println!("{balance} in the account, {left} after this: press Enter");
    let read = tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new()));
    match read.await?? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()), // the terminal was closed
        _ => Ok(()),
    }
}

/// Accounts, each with the highest fencing token that it has seen.
///
/// The calls block, which this program can afford, because it has nothing else to do. A service moves the token and the
/// call into `tokio::task::spawn_blocking`.
struct Store(Connection);

impl Store {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS account (
                 id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0
             );
             INSERT OR IGNORE INTO account (id, balance) VALUES (7, 100);",
        )?;
        Ok(Self(connection))
    }

    /// Returns the balance, and keeps earlier holders from writing from now on.
    ///
    /// The statement is a transaction of its own. Inside of one with the write, its row lock would keep the next holder
    /// waiting for as long as this one is frozen.
    fn claim(&self, id: i64, token: i64) -> Result<i64, StoreError> {
        let sql = "UPDATE account SET fence = ?2 WHERE id = ?1 AND fence <= ?2 RETURNING balance";
        let balance = self.0.query_row(sql, [id, token], |row| row.get(0));
        balance.optional()?.ok_or(StoreError::TooLate { token })
    }

    /// Writes if no later holder has shown its token. `<=` lets one holder write more than once.
    fn set_balance(&self, id: i64, balance: i64, token: i64) -> Result<(), StoreError> {
        let sql = "UPDATE account SET balance = ?2, fence = ?3 WHERE id = ?1 AND fence <= ?3";
        match self.0.execute(sql, [id, balance, token])? {
            0 => Err(StoreError::TooLate { token }),
            _ => Ok(()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum StoreError {
    #[error("token {token} is too old: a later holder has been here, or there is no such account")]
    TooLate { token: i64 },
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

#[derive(Debug, thiserror::Error)]
enum WithdrawError {
    #[error("there are only {balance} in the account")]
    NotEnough { balance: i64 },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("no confirmation: {0}")]
    Unconfirmed(#[from] io::Error),
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let mut arguments = std::env::args().skip(1);
    let (Some(database), Some(amount)) = (arguments.next(), arguments.next()) else {
        return Err("usage: fenced_write <database> <amount>".into());
    };
    let (store, amount) = (Store::open(Path::new(&database))?, amount.parse()?);
    // Releases the lock at Ctrl-C. A service awaits `shutdown_signal()` instead.
    let config = Config::load()?.release_on_exit(true);
    let redlock = redlock_runtime::init(config).await?;
    let outcome = withdraw(ACCOUNT, amount, &store).await;
    redlock.shutdown().await;
    match outcome {
        Ok(left) => println!("withdrawn, {left} left"),
        Err(error) => {
            println!("nothing withdrawn: {error}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
