//! Releases that the server answered with an error: it is owed them until their ttl.

use std::time::Duration;

use tokio::time::Instant;

use crate::env::caught::log;
use crate::node::{NodeError, NodeErrorKind};
use crate::redis::connection::backoff::{FIRST_PAUSE, LONGEST_PAUSE};
use crate::redis::protocol::command::encoded;

use super::super::inbox::Owed;
use super::{Purpose, Serve};

/// So many are tried at once, to see whether the server takes them by now.
const BATCH: usize = 128;

/// When the server is tried again. One moment and one pause for all that it is owed: where it takes no
/// release, it is asked about a batch of them once a pause, however many there are.
pub(super) struct Debts {
    /// When the next batch goes out; `None` where one is under way, or nothing is owed.
    pub(super) pay_at: Option<Instant>,
    /// Doubles with each batch if the server served none of its releases.
    pause: Duration,
    /// Owed, and sent.
    under_way: usize,
    /// Something of what was sent last was served.
    is_any_served: bool,
    /// Why the server takes no releases, as the log had it last.
    logged: String,
}

impl Debts {
    pub(super) fn new() -> Self {
        Self {
            pay_at: None,
            pause: FIRST_PAUSE,
            under_way: 0,
            is_any_served: false,
            logged: String::new(),
        }
    }
}

impl Serve<'_> {
    /// Sends releases that are owed.
    pub(super) fn pay(&mut self, owed: Vec<Owed>) {
        self.debts.pay_at = None;
        for owed in owed {
            self.output
                .extend_from_slice(encoded(&owed.operation, &self.tongue));
            self.debts.under_way += 1;
            self.push(Instant::now(), Purpose::Owed(owed));
        }
    }

    /// Sends the next of them. Where all have passed their ttl, there is nothing more to do.
    pub(super) fn pay_some(&mut self, now: Instant) {
        loop {
            let owed = self.inbox.take_debts(BATCH, now);
            if !owed.is_empty() {
                return self.pay(owed);
            }
            if !self.inbox.owes(now) {
                return self.settle();
            }
        }
    }

    /// Sends all of them, ahead of a barrier that is to say whether any is left.
    pub(super) fn pay_all(&mut self) {
        let owed = self.inbox.take_debts(usize::MAX, Instant::now());
        self.pay(owed);
    }

    /// The server answered a release with an error.
    pub(super) fn owe(&mut self, owed: Owed, error: &NodeError) {
        self.inbox.owe(owed);
        let reason = error.to_string();
        let kind = reason.split(' ').next().unwrap_or_default();
        if self.debts.logged != kind {
            kind.clone_into(&mut self.debts.logged);
            log!(
                warn,
                pool = %self.inbox.name, %reason,
                "node does not take releases; they are tried again until their ttl",
            );
        }
        if self.debts.under_way == 0 && self.debts.pay_at.is_none() {
            self.pay_after_a_pause();
        }
    }

    /// A release that was owed is answered, and owed again unless it was served.
    pub(super) fn tried(&mut self, is_served: bool) {
        self.debts.is_any_served |= is_served;
        self.debts.under_way = self.debts.under_way.saturating_sub(1);
        if self.debts.under_way > 0 {
            return;
        }
        let now = Instant::now();
        let is_any_served = std::mem::take(&mut self.debts.is_any_served);
        if !self.inbox.owes(now) {
            self.settle();
        } else if is_any_served {
            self.debts.pause = FIRST_PAUSE;
            self.pay_some(now);
        } else {
            self.pay_after_a_pause();
        }
    }

    /// What a barrier says: whether everything before it was served.
    pub(super) fn is_paid(&self) -> Result<(), NodeError> {
        if self.inbox.owes(Instant::now()) {
            let detail = "it answered releases with errors, and they are tried again";
            return Err(NodeError::sent(NodeErrorKind::Server, detail));
        }
        Ok(())
    }

    /// Nothing is owed any more.
    fn settle(&mut self) {
        self.debts.pay_at = None;
        self.debts.pause = FIRST_PAUSE;
        if !std::mem::take(&mut self.debts.logged).is_empty() {
            log!(info, pool = %self.inbox.name, "nothing is owed to the node any more");
        }
    }

    fn pay_after_a_pause(&mut self) {
        let at = Instant::now() + self.debts.pause;
        self.debts.pause = (self.debts.pause * 2).min(LONGEST_PAUSE);
        self.debts.pay_at = Some(at);
        if self.watchdog.deadline() > at {
            self.watchdog.as_mut().reset(at);
        }
    }
}
