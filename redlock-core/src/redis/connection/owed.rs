//! Releases that the server did not serve. They are owed until their ttl.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::NodeError;
use crate::node::log::log_node;
use crate::redis::backoff::{FIRST_PAUSE, LONGEST_PAUSE};
use crate::redis::inbox::Owed;

use super::line::Line;

/// The most releases that are tried at once, to see whether the server takes them again.
const BATCH: usize = 128;

/// When the server is tried again. All owed releases share one moment and one pause: if a server takes no release, it
/// gets one batch a pause, however many are owed.
pub(super) struct OwedReleases {
    /// The moment of the next batch; `None` while a batch is in flight, or if nothing is owed.
    pub(super) retry_at: Option<Instant>,
    /// Doubles with each batch in which the server served no release.
    pause: Duration,
    /// The number of owed releases in flight.
    in_flight: usize,
    /// True if the server served a release of the present batch.
    is_any_served: bool,
    /// The kind of the last logged error of a release.
    logged: String,
}

impl OwedReleases {
    pub(super) fn new() -> Self {
        Self {
            retry_at: None,
            pause: FIRST_PAUSE,
            in_flight: 0,
            is_any_served: false,
            logged: String::new(),
        }
    }

    pub(super) fn send(&mut self, owed: Vec<Owed>, line: &mut Line) {
        self.retry_at = None;
        let now = line.now();
        for owed in owed {
            self.in_flight += 1;
            line.send_owed(owed, false, now);
        }
    }

    /// Sends the next batch. If all owed releases have passed their ttl, nothing is left to do.
    pub(super) fn send_some(&mut self, now: Instant, line: &mut Line) {
        loop {
            let owed = line.inbox.take_owed_batch(BATCH, now);
            if !owed.is_empty() {
                return self.send(owed, line);
            }
            if !line.inbox.owes(now) {
                return self.settle(line);
            }
        }
    }

    /// Keeps a release that is to be sent again.
    pub(super) fn owe(&mut self, owed: Owed, line: &mut Line) {
        line.inbox.owe(owed);
        if self.in_flight == 0 && self.retry_at.is_none() {
            self.retry_after_a_pause(line);
        }
    }

    /// Keeps a release that the server answered with an error.
    pub(super) fn owe_refused(&mut self, owed: Owed, error: &NodeError, line: &mut Line) {
        let reason = error.to_string();
        let kind = reason.split(' ').next().unwrap_or_default();
        if self.logged != kind {
            kind.clone_into(&mut self.logged);
            log_node!(
                line.inbox.log,
                WARN,
                "node refuses releases; they are sent again until their ttl",
                %reason
            );
        }
        self.owe(owed, line);
    }

    /// Records the answer to an owed release. After the last answer of a batch, tries what is still owed: at once if the
    /// server served a release, else after a pause.
    pub(super) fn tried(&mut self, is_served: bool, line: &mut Line) {
        self.is_any_served |= is_served;
        self.in_flight = self.in_flight.saturating_sub(1);
        line.inbox.tried();
        if self.in_flight > 0 {
            return;
        }
        let is_any_served = std::mem::take(&mut self.is_any_served);
        if !line.inbox.owes(line.heard) {
            self.settle(line);
        } else if is_any_served {
            self.pause = FIRST_PAUSE;
            self.send_some(line.heard, line);
        } else {
            self.retry_after_a_pause(line);
        }
    }

    /// Ends the retries: nothing is owed.
    fn settle(&mut self, line: &Line) {
        self.retry_at = None;
        self.pause = FIRST_PAUSE;
        if !std::mem::take(&mut self.logged).is_empty() {
            log_node!(
                line.inbox.log,
                INFO,
                "no refused release is left to send to the node"
            );
        }
    }

    fn retry_after_a_pause(&mut self, line: &mut Line) {
        let at = line.now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.retry_at = Some(at);
        line.watch_by(at);
    }
}
