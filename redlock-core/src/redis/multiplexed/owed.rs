//! Releases that the server did not serve. They are owed until their ttl.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::NodeError;
use crate::node::log::log_node;
use crate::redis::connection::backoff::{FIRST_PAUSE, LONGEST_PAUSE};
use crate::redis::server::inbox::Owed;

use super::actor::{Actor, Purpose};
use super::command::command;

/// The most releases that are tried at once, to see whether the server takes them again.
const BATCH: usize = 128;

/// When the server is tried again. All owed releases share one moment and one pause: a server that
/// takes no release gets one batch a pause, however many are owed.
pub(super) struct OwedRetries {
    /// The moment of the next batch; `None` while a batch is in flight, or if nothing is owed.
    pub(super) retry_at: Option<Instant>,
    /// Doubles with each batch of which the server served no release.
    pause: Duration,
    /// The number of owed releases in flight.
    under_way: usize,
    /// True if the server served a release of the present batch.
    is_any_served: bool,
    /// The kind of the last logged error of a release.
    logged: String,
}

impl OwedRetries {
    pub(super) fn new() -> Self {
        Self {
            retry_at: None,
            pause: FIRST_PAUSE,
            under_way: 0,
            is_any_served: false,
            logged: String::new(),
        }
    }
}

impl Actor {
    /// Sends owed releases.
    pub(super) fn send_owed(&mut self, owed: Vec<Owed>) {
        self.owed_retries.retry_at = None;
        let now = self.inbox.time.now();
        for owed in owed {
            let command = command(&owed.call, &self.dialect, false);
            self.owed_retries.under_way += 1;
            self.send(command, now, Purpose::Owed(owed));
        }
    }

    /// Sends the next batch. If all owed releases have passed their ttl, nothing is left to do.
    pub(super) fn send_some_owed(&mut self, now: Instant) {
        loop {
            let owed = self.inbox.take_owed_batch(BATCH, now);
            if !owed.is_empty() {
                return self.send_owed(owed);
            }
            if !self.inbox.owes(now) {
                return self.settle();
            }
        }
    }

    /// Keeps a release that is to be sent again.
    pub(super) fn owe(&mut self, owed: Owed) {
        self.inbox.owe(owed);
        if self.owed_retries.under_way == 0 && self.owed_retries.retry_at.is_none() {
            self.retry_after_a_pause();
        }
    }

    /// Keeps a release that the server answered with an error.
    pub(super) fn owe_refused(&mut self, owed: Owed, error: &NodeError) {
        let reason = error.to_string();
        let kind = reason.split(' ').next().unwrap_or_default();
        if self.owed_retries.logged != kind {
            kind.clone_into(&mut self.owed_retries.logged);
            log_node!(
                self.inbox.log,
                warn,
                &reason,
                "node refuses releases; they are sent again until their ttl"
            );
        }
        self.owe(owed);
    }

    /// Records the answer to an owed release. After the last answer of a batch, tries what is still
    /// owed: at once if the server served a release, else after a pause.
    pub(super) fn tried(&mut self, is_served: bool) {
        self.owed_retries.is_any_served |= is_served;
        self.owed_retries.under_way = self.owed_retries.under_way.saturating_sub(1);
        self.inbox.tried();
        if self.owed_retries.under_way > 0 {
            return;
        }
        let is_any_served = std::mem::take(&mut self.owed_retries.is_any_served);
        if !self.inbox.owes(self.heard) {
            self.settle();
        } else if is_any_served {
            self.owed_retries.pause = FIRST_PAUSE;
            self.send_some_owed(self.heard);
        } else {
            self.retry_after_a_pause();
        }
    }

    /// Ends the retries: nothing is owed.
    fn settle(&mut self) {
        self.owed_retries.retry_at = None;
        self.owed_retries.pause = FIRST_PAUSE;
        if !std::mem::take(&mut self.owed_retries.logged).is_empty() {
            log_node!(
                self.inbox.log,
                info,
                "",
                "no refused release is left to send to the node"
            );
        }
    }

    fn retry_after_a_pause(&mut self) {
        let at = self.inbox.time.now() + self.owed_retries.pause;
        self.owed_retries.pause = (self.owed_retries.pause * 2).min(LONGEST_PAUSE);
        self.owed_retries.retry_at = Some(at);
        self.watch_by(at);
    }
}
