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
use crate::redis::protocol::command::HEARTBEAT;

use super::{Purpose, Serve};

/// The shortest time that timers of tokio tell apart.
const A_MOMENT: Duration = Duration::from_millis(1);

impl Serve {
    /// True if there is something to write.
    pub(super) fn watch(&mut self, context: &mut Context<'_>) -> Result<bool, NodeError> {
        let mut has_work = false;
        if let Some(server_check) = &self.server_check {
            server_check.lock().wake(context.waker());
        }
        while self.watchdog.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if self.check_at.is_some_and(|at| at <= now) {
                self.ask();
            }
            if self.owed_retries.retry_at.is_some_and(|at| at <= now) {
                self.send_some_owed(now);
            }
            if self.probe_at.is_some_and(|at| at <= now) {
                self.probe(now);
            }
            self.ask_for_memory(now);
            has_work |= !self.output.is_empty();
            let next = match self.waited(now) {
                None => self.idle(now).unwrap_or_else(|| {
                    has_work = true;
                    self.options.suspect_after
                }),
                Some(waited) if waited >= self.options.suspect_after && self.leaves_overdue() => {
                    // The shortest pause.
                    Duration::ZERO
                }
                Some(waited) if waited >= self.options.dead_after => {
                    return Err(overdue(waited));
                }
                Some(waited) if waited >= self.options.suspect_after => {
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
                    self.options
                        .suspect_after
                        .min(self.options.dead_after.saturating_sub(waited))
                }
                Some(waited) => self.options.suspect_after.saturating_sub(waited),
            };
            let others = [self.check_at, self.owed_retries.retry_at, self.probe_at];
            let others = others.into_iter().flatten();
            let others = others.map(|at| at.saturating_duration_since(now));
            let next = others.fold(next, Duration::min);
            self.watchdog.as_mut().reset(now + next.max(A_MOMENT));
        }
        Ok(has_work)
    }

    /// The socket has just come to this runtime, which has not looked at it: an answer may be there already. The
    /// runtime looks at its sockets before the timer fires.
    pub(super) fn watch_later(&mut self) {
        let soon = Instant::now() + A_MOMENT;
        if self.watchdog.deadline() < soon {
            self.watchdog.as_mut().reset(soon);
        }
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
        let oldest = self.in_flight.front()?;
        Some(now.duration_since(oldest.since))
    }

    /// The time until the next look at a connection on which all is answered. `None` if it was idle for
    /// a heartbeat, and a heartbeat was sent. The restart check's questions serve as heartbeats.
    fn idle(&mut self, now: Instant) -> Option<Duration> {
        let idle = now.duration_since(self.heard);
        if idle < self.options.suspect_after {
            return Some(self.options.suspect_after);
        }
        if idle < self.options.heartbeat {
            return Some(self.options.heartbeat.saturating_sub(idle));
        }
        if self.server_check.is_some() {
            return Some(self.options.heartbeat);
        }
        self.output.extend_from_slice(HEARTBEAT);
        self.push(now, Purpose::Heartbeat);
        None
    }
}
