//! The task that keeps a node connected.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::env::caught::unless_it_panics;
use crate::env::io_thread::IoThread;
use crate::model::brief::Brief;
use crate::node::log::log_node;
use crate::node::{NodeError, NodeErrorKind};
use crate::redis::address::{RedisAddress, Server, Target};
use crate::redis::connection::backoff::{Backoff, HasEnded, LONGEST_PAUSE};
use crate::redis::connection::errors::not_connected;
use crate::redis::connection::handshake::{Connected, InfoLevel, connect};
use crate::redis::options::RedisOptions;

use super::inbox::Inbox;
use super::restart_check::ServerCheck;
use super::serve::{ConnectionEnd, Serve, Serving};

pub(super) struct Driver {
    pub(super) address: Arc<RedisAddress>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) options: Arc<RedisOptions>,
    /// The node's restart check, if the node belongs to a checked set.
    pub(super) server_check: Option<Arc<Mutex<ServerCheck>>>,
    pub(super) _io: IoThread,
}

impl Driver {
    /// Serves the node until it is dropped. After a panic it starts again with a pause: the connection
    /// is gone, the operations in flight are answered, and their releases are owed.
    pub(super) async fn run(mut self) {
        while unless_it_panics("a node's driver", self.drive())
            .await
            .is_none()
        {
            self.unreachable();
            let detail = "the node's driver panicked, and starts again";
            self.inbox.close(&not_connected(detail), Vec::new());
            if self.has_ended_within(LONGEST_PAUSE).await {
                return;
            }
        }
    }

    /// Connects, serves, and connects again, until the node is dropped.
    async fn drive(&mut self) {
        let mut backoff = Backoff::new();
        // The last logged reason for having no connection: a server that is down for a night gets one
        // line in the log, not one a second.
        let mut logged = String::new();
        loop {
            match self.connect().await {
                Ok((server, connected)) => {
                    log_node!(
                        self.inbox.log,
                        info,
                        "",
                        "node connected",
                        server = %self.address, at = %server
                    );
                    logged.clear();
                    let answers = self.inbox.metrics.answers();
                    match self.serve(connected).await {
                        ConnectionEnd::Dropped => return,
                        ConnectionEnd::Broken(error) => self.log(&error, &mut logged),
                    }
                    self.unreachable();
                    if self.inbox.metrics.answers() != answers {
                        // The connection was of use, however short it was.
                        backoff = Backoff::new();
                    }
                }
                Err(error) => {
                    self.unreachable();
                    self.inbox.close(&error, Vec::new());
                    self.log(&error, &mut logged);
                }
            }
            if self.has_ended_within(backoff.next()).await {
                return;
            }
        }
    }

    /// Serves the connection until it ends.
    async fn serve(&mut self, connected: Connected) -> ConnectionEnd {
        let server_check = self.server_check.as_ref();
        let serve = Serve::new(connected, &self.inbox, &self.options, server_check);
        Serving::new(serve).await
    }

    fn log(&self, error: &NodeError, logged: &mut String) {
        let reason = error.to_string();
        if *logged != reason {
            log_node!(
                self.inbox.log,
                warn,
                &reason,
                "node not connected; it does not vote until it is",
                server = %self.address
            );
            *logged = reason;
        }
    }

    fn unreachable(&mut self) {
        if let Some(server_check) = &self.server_check {
            server_check.lock().unreachable();
        }
    }

    /// Connects to a server that may vote, by all that it tells of itself.
    async fn connect(&mut self) -> Result<(Server, Connected), NodeError> {
        let timeout = self.options.connect_timeout;
        let info_level = match (&self.server_check, self.options.trust_aof) {
            (None, _) => InfoLevel::None,
            (Some(_), false) => InfoLevel::Info,
            (Some(_), true) => InfoLevel::Persistence,
        };
        let checked_set = self.options.checked_set.as_ref();
        let prefix = checked_set.map_or(&b""[..], |checked_set| checked_set.key_prefix());
        let until = Instant::now() + timeout;
        let late = || not_connected(format!("no connection within {}", Brief(timeout)));
        let Target::Server(server) = &self.address.target else {
            return Err(not_connected("the address is not that of one server"));
        };
        let connecting = connect(server, info_level, prefix);
        let connected = timeout_at(until, connecting).await;
        let connected = connected.unwrap_or_else(|_| Err(late()));
        let connected = connected?;
        let (facts, pool) = (&connected.facts, &self.inbox.log.pool);
        if let Some(server_check) = &self.server_check {
            let mut server_check = server_check.lock();
            let judgement = facts.judge(pool, self.options.trust_aof);
            let warnings = judgement.under(self.options.vetting)?;
            server_check.connected(connected.facts.clone());
            self.inbox.log.connected(warnings);
        }
        Ok((server.clone(), connected))
    }

    async fn has_ended_within(&self, pause: Duration) -> bool {
        let ended = poll_fn(|context| match self.inbox.has_ended(context) {
            HasEnded(true) => Poll::Ready(()),
            HasEnded(false) => Poll::Pending,
        });
        tokio::select! {
            biased;
            () = ended => true,
            () = tokio::time::sleep(pause) => false,
        }
    }
}

impl Drop for Driver {
    /// However the driver ends, also with its runtime: no caller may keep waiting for it, and the node
    /// must report that it does not vote.
    fn drop(&mut self) {
        let detail = "the node's driver has ended";
        let error = NodeError::unsent(NodeErrorKind::NotConnected, detail);
        self.inbox.close(&error, Vec::new());
    }
}

#[cfg(all(test, unix))]
mod tests;
