//! The server that a node's address means at present.

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

/// A server, and the sentinels' answer that named it.
pub(in crate::redis) struct Located {
    pub(in crate::redis) server: Server,
    /// The sentinels' answer, if sentinels were asked.
    named: Option<Named>,
}

impl Located {
    /// Adds the server to `error`, if the node's address alone does not name it.
    pub(in crate::redis) fn blame(&self, error: NodeError) -> NodeError {
        match &self.named {
            None => error,
            Some(_) => NodeError::unsent(error.kind(), format!("master {}: {error}", self.server)),
        }
    }
}

/// Returns the server to connect to. Asking sentinels takes half of `connect_timeout` at most.
///
/// Dropping the future closes the connections to sentinels.
pub(in crate::redis) async fn locate(
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
                    given: None,
                },
                named: Some(named),
            })
        }
        // A Cluster is not one server: each of its masters has a link of its own.
        Target::Cluster(_) => Err(not_connected(
            "the address is that of a Redis Cluster, and not of one server",
        )),
    }
}

/// Completes when a newer failover has made another server the master. Asks the sentinels when one of
/// them tells of a failover, repeatedly while an answer of the present master is overdue, and with each
/// heartbeat. The heartbeat is needed because a master that was cut off from its sentinels may still
/// answer this client.
///
/// Never completes without sentinels, or if the sentinels do not tell the number of the failover.
pub(in crate::redis) async fn moved(
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
        // Waits for the heartbeat or a notification, whichever is first.
        let _ = timeout(jittered(options.heartbeat), inbox.doubts().notified()).await;
        match ask(sentinel, options.connect_timeout / 2).await {
            Ok(now) if now.endpoint != from.endpoint && now.epoch > from.epoch => {
                let detail = format!("the sentinels name another master, {}", now.endpoint);
                return lost(detail);
            }
            // Otherwise the connection stays, also if no sentinel answers.
            _ => {}
        }
    }
}
