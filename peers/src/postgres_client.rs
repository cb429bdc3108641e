//! Advisory locks of sessions. Each caller has a session of its own.

use crate::client::Locks;
use tokio_postgres::{Client, NoTls, Statement};

/// As many as any case has in a process.
const CALLERS: usize = 16;

pub(crate) struct Postgres(Vec<Session>);

struct Session {
    client: Client,
    lock: Statement,
    unlock: Statement,
}

impl Postgres {
    pub(crate) async fn connect(server: &str) -> Self {
        let mut sessions = Vec::new();
        for _ in 0..CALLERS {
            let (client, connection) = connected(server).await;
            tokio::spawn(connection);
            // A name becomes a number of 64 bits.
            let lock = "SELECT pg_advisory_lock(hashtextextended($1, 0))";
            let unlock = "SELECT pg_advisory_unlock(hashtextextended($1, 0))";
            sessions.push(Session {
                lock: client.prepare(lock).await.expect("a statement"),
                unlock: client.prepare(unlock).await.expect("a statement"),
                client,
            });
        }
        Self(sessions)
    }
}

/// Connects to the server, which may still be starting.
async fn connected(
    server: &str,
) -> (
    Client,
    tokio_postgres::Connection<tokio_postgres::Socket, tokio_postgres::tls::NoTlsStream>,
) {
    redlock_tests::eventually("a session", std::time::Duration::from_secs(20), || async {
        let connected = tokio_postgres::connect(server, NoTls).await;
        connected.map_err(|error| error.to_string())
    })
    .await
}

impl Locks for Postgres {
    type Held = String;

    async fn acquire(&self, caller: usize, key: &str) -> Result<String, String> {
        let Session { client, lock, .. } = &self.0[caller];
        let locked = client.query_one(lock, &[&key]).await;
        locked.map_err(|error| error.to_string())?;
        Ok(key.to_owned())
    }

    async fn release(&self, caller: usize, key: String) -> Result<(), String> {
        let Session { client, unlock, .. } = &self.0[caller];
        let row = client.query_one(unlock, &[&key]).await;
        let had_it: bool = row.map_err(|error| error.to_string())?.get(0);
        had_it
            .then_some(())
            .ok_or_else(|| "it had no such lock".to_owned())
    }
}
