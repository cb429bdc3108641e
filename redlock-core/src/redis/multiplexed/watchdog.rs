//! The watchdog of a connection: overdue answers, idleness, and the moments of checks, retries and
//! probes.

use std::future::Future as _;
use std::task::Context;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::brief::Brief;
use crate::node::NodeError;
use crate::node::log::log_node;
use crate::redis::connection::errors::overdue;

use super::actor::{Actor, Purpose};
use super::command::words;

/// The shortest time that timers of tokio tell apart.
const A_MOMENT: Duration = Duration::from_millis(1);

/// If the watchdog fires later than this, its runtime stood still.
const LATE: Duration = Duration::from_millis(50);

/// After a standstill, the crate's task has this long to read what the server has answered meanwhile.
const TO_READ: Duration = Duration::from_millis(20);

impl Actor {
    /// Does what is due, and waits for what is due next.
    pub(super) fn watch(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if let Some(server_check) = &self.server_check {
            server_check.lock().wake(context.waker());
        }
        while self.watchdog.as_mut().poll(context).is_ready() {
            let now = self.inbox.time.now();
            let stood_still = now.saturating_duration_since(self.watchdog.deadline()) > LATE;
            if self.check_at.is_some_and(|at| at <= now) {
                self.ask();
            }
            if self.owed_retries.retry_at.is_some_and(|at| at <= now) {
                self.send_some_owed(now);
            }
            if self.probe_at.is_some_and(|at| at <= now) {
                self.probe(now);
            }
            if self.wakeups.again_at.is_some_and(|at| at <= now) {
                self.look_again(now);
            }
            self.ask_for_memory(now);
            let (suspect_after, dead_after) = (self.options.suspect_after, self.options.dead_after);
            let next = match self.waited(now) {
                None => self.idle(now),
                Some(waited) if waited >= dead_after && stood_still => TO_READ,
                Some(waited) if waited >= dead_after => return Err(overdue(waited)),
                Some(waited) if waited >= suspect_after => {
                    self.suspect(waited);
                    suspect_after.min(dead_after.saturating_sub(waited))
                }
                Some(waited) => suspect_after.saturating_sub(waited),
            };
            let (retry_at, again_at) = (self.owed_retries.retry_at, self.wakeups.again_at);
            let others = [self.check_at, retry_at, self.probe_at, again_at];
            let others = others.into_iter().flatten();
            let others = others.map(|at| at.saturating_duration_since(now));
            let next = others.fold(next, Duration::min);
            self.watchdog.as_mut().reset(now + next.max(A_MOMENT));
        }
        Ok(())
    }

    /// An answer is overdue.
    fn suspect(&mut self, waited: Duration) {
        if !std::mem::replace(&mut self.is_suspect, true) {
            log_node!(
                self.inbox.log,
                warn,
                "",
                "node does not answer; it does not vote until it does",
                overdue = %Brief(waited)
            );
        }
        self.inbox.suspect(waited);
    }

    /// If the overdue answers have come, the node may vote again. A server that did not answer may have
    /// stood still, and its clock may have stepped. The restart check's question is therefore sent
    /// before all operations that are accepted from now on, so its verdict covers them. Callers get
    /// their answers after this, so a caller that asks again is accepted.
    pub(super) fn trust_again(&mut self) {
        let is_overdue = |waited| waited >= self.options.suspect_after;
        if !self.is_suspect || self.waited(self.heard).is_some_and(is_overdue) {
            return;
        }
        self.is_suspect = false;
        log_node!(self.inbox.log, info, "", "node answers again");
        if self.check_at.is_some() {
            self.ask();
        }
        self.inbox.trust();
    }

    /// The age of the oldest unanswered operation.
    fn waited(&self, now: Instant) -> Option<Duration> {
        let oldest = self.flights.front()?;
        Some(now.saturating_duration_since(oldest.since))
    }

    /// The time until the next look at a connection on which all is answered. Sends a heartbeat if it was idle for one.
    /// The restart check's questions serve as heartbeats.
    fn idle(&mut self, now: Instant) -> Duration {
        let idle = now.saturating_duration_since(self.heard);
        if idle < self.options.suspect_after {
            return self.options.suspect_after;
        }
        if idle < self.options.heartbeat {
            return self.options.heartbeat.saturating_sub(idle);
        }
        if self.server_check.is_some() {
            return self.options.heartbeat;
        }
        // Any command that every user may run would do.
        self.send(
            words([b"TIME".as_slice()].into_iter()),
            now,
            Purpose::Heartbeat,
        );
        self.options.suspect_after
    }
}
