//! The task that keeps a node connected.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rand::RngExt as _;
use tokio::time::Instant;

use crate::error::Brief;
use crate::io_thread::IoThread;
use crate::node::{NodeError, NodeErrorKind};

use super::RedisOptions;
use super::address::RedisAddress;
use super::connect::{Connected, Curiosity, connect};
use super::inbox::{HasEnded, Inbox};
use super::locate::locate;
use super::serve::{Ended, Serve};
use super::warden::Warden;

/// The first pause before another attempt to connect; it doubles up to [`LONGEST_PAUSE`].
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// A server that came back is noticed within this.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Driver {
    pub(super) name: Arc<str>,
    pub(super) address: Arc<RedisAddress>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) options: RedisOptions,
    /// The node's guard, where it belongs to a fleet.
    pub(super) warden: Option<Warden>,
    pub(super) _io: IoThread,
}

impl Driver {
    /// Connects, serves, and connects again, until the node is dropped.
    pub(super) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        // Why there is no connection, as the log had it last: a server that is down for a night
        // is worth one line, not one a second.
        let mut logged = String::new();
        loop {
            match self.connect().await {
                Ok(connected) => {
                    tracing::info!(pool = %self.name, server = %self.address, "node connected");
                    logged.clear();
                    let since = Instant::now();
                    let warden = self.warden.as_mut();
                    let ended = Serve::new(connected, &self.inbox, &self.options, warden).await;
                    match ended {
                        Ended::Dropped => return,
                        Ended::Broken(error) => self.log(&error, &mut logged),
                    }
                    self.unreachable();
                    if since.elapsed() > LONGEST_PAUSE {
                        pause = FIRST_PAUSE;
                    }
                }
                Err(error) => {
                    self.unreachable();
                    self.inbox.close(&error, Vec::new());
                    self.log(&error, &mut logged);
                }
            }
            if self.has_ended_within(jittered(pause)).await {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn log(&self, error: &NodeError, logged: &mut String) {
        let reason = error.to_string();
        if *logged != reason {
            tracing::warn!(
                pool = %self.name, server = %self.address, %reason,
                "node not connected; it votes no until it is",
            );
            *logged = reason;
        }
    }

    fn unreachable(&mut self) {
        if let Some(warden) = &mut self.warden {
            warden.unreachable();
        }
    }

    /// Connects to a server that may vote, for all that it says of itself.
    async fn connect(&mut self) -> Result<Connected, NodeError> {
        let timeout = self.options.connect_timeout;
        let part = self.inbox.part();
        let curiosity = match (&self.warden, self.options.trust_aof) {
            (None, _) if part.is_some() => Curiosity::Info,
            (None, _) => Curiosity::None,
            (Some(_), false) => Curiosity::Info,
            (Some(_), true) => Curiosity::Persistence,
        };
        let connecting = async { connect(&locate(&self.address).await?, curiosity).await };
        let connected = tokio::time::timeout(timeout, connecting)
            .await
            .unwrap_or_else(|_| {
                let detail = format!("no connection within {}", Brief(timeout));
                Err(NodeError::unsent(NodeErrorKind::NotConnected, detail))
            })?;
        if let Some(warden) = &mut self.warden {
            let judgement = connected.facts.judge(&self.name, self.options.trust_aof);
            let warnings = judgement.under(self.options.vetting)?;
            warden.connected(connected.facts.clone(), warnings);
        }
        if let Some(part) = part {
            part.vet(&connected.facts, self.options.vetting)?;
        }
        Ok(connected)
    }

    async fn has_ended_within(&self, pause: Duration) -> bool {
        let mut pause = pin!(tokio::time::sleep(pause));
        poll_fn(|context| {
            if let HasEnded(true) = self.inbox.has_ended(context) {
                return Poll::Ready(true);
            }
            pause.as_mut().poll(context).map(|()| false)
        })
        .await
    }
}

impl Drop for Driver {
    /// However the driver ends, be it by a panic in a caller's waker: nobody must go on waiting
    /// for it, and the node has to say that it does not vote.
    fn drop(&mut self) {
        let detail = "the node's driver has ended";
        let error = NodeError::unsent(NodeErrorKind::NotConnected, detail);
        self.inbox.close(&error, Vec::new());
    }
}

/// Between half of `pause` and all of it, so that a fleet does not reconnect in step.
pub(super) fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::rng().random_range(0.5..=1.0))
}
