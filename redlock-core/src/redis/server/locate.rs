//! Which server a node's address means right now.

use std::future::pending;
use std::time::Duration;

use tokio::time::timeout;

use crate::node::NodeError;
use crate::redis::address::{RedisAddress, Server, Target};
use crate::redis::connection::backoff::jittered;
use crate::redis::connection::errors::{lost, not_connected};
use crate::redis::options::RedisOptions;
use crate::redis::sentinel::{Listening, Named, ask};

use super::inbox::Inbox;

/// A server, and by whose word it is the one.
pub(super) struct Located {
    pub(super) server: Server,
    /// What the sentinels said, where they were asked.
    named: Option<Named>,
}

impl Located {
    /// The same error, with the server that the address alone does not tell.
    pub(super) fn blame(&self, error: NodeError) -> NodeError {
        match &self.named {
            None => error,
            Some(_) => NodeError::unsent(error.kind(), format!("master {}: {error}", self.server)),
        }
    }
}

/// The server to connect to, found within about half of the time that there is for connecting.
///
/// Dropping the future leaves nothing behind.
pub(super) async fn locate(
    address: &RedisAddress,
    connect_timeout: Duration,
) -> Result<Located, NodeError> {
    match &address.target {
        Target::Server(server) => Ok(Located {
            server: server.clone(),
            named: None,
        }),
        Target::Sentinel(sentinel) => {
            let named = ask(sentinel, connect_timeout / 2).await?;
            Ok(Located {
                server: Server {
                    endpoint: named.endpoint.clone(),
                    login: sentinel.login.clone(),
                    tls: sentinel.tls.clone(),
                },
                named: Some(named),
            })
        }
        // It is no one server: its masters are each located by themselves.
        Target::Cluster(_) => Err(not_connected("no single server")),
    }
}

/// Completes when a newer failover has made another server the master. Asks when a sentinel tells of
/// one, when answers of the present master are overdue, for as long as they are, and with each
/// heartbeat: a master that was cut off from its sentinels may go on answering this client.
///
/// Without sentinels, or where they do not tell of which failover they speak, it never completes.
pub(super) async fn moved(
    address: &RedisAddress,
    from: &Located,
    inbox: &Inbox,
    options: &RedisOptions,
) -> NodeError {
    let (Target::Sentinel(sentinel), Some(from)) = (&address.target, &from.named) else {
        return pending().await;
    };
    let _listening = Listening::to(sentinel, inbox.doubts(), options.heartbeat);
    loop {
        // Whichever comes first.
        let _ = timeout(jittered(options.heartbeat), inbox.doubts().notified()).await;
        match ask(sentinel, options.connect_timeout / 2).await {
            Ok(now) if now.endpoint != from.endpoint && now.epoch > from.epoch => {
                let detail = format!("the sentinels name another master, {}", now.endpoint);
                return lost(detail);
            }
            // What is there goes on, be the sentinels as they may.
            _ => {}
        }
    }
}
