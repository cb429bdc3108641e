//! The restart check on a simulated connection: core's
//! [`NodeCheck`](redlock_core::restart_check::NodeCheck), fed with what the server answers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use redlock_core::env::Clock as _;
use redlock_core::restart_check::{Action, CheckAnswer, MarkerWrite};

use crate::link::{Gate, Link};
use crate::server::Marked;
use crate::wire::{Request, Wire};

/// A node that votes is looked at so often.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

impl Link {
    /// Asks the server for its time and marker.
    pub(crate) fn ask(&self, wire: &Arc<Wire>, write: Option<MarkerWrite>) {
        wire.asked_at(self.clock.now());
        self.put_on(wire, Request::Check(write));
    }

    pub(crate) fn unreachable(&self) {
        if let Some(node_check) = &self.node_check {
            let mut node_check = node_check.lock();
            node_check.unreachable();
        }
    }

    /// Handles an answer of the server.
    pub(crate) fn judge(&self, wire: &Arc<Wire>, marked: &Marked) {
        wire.checked();
        let Some(node_check) = &self.node_check else {
            self.open(wire, Gate::Voting);
            return;
        };
        let (asked, answered) = (wire.last_asked(), self.clock.now());
        let run_id = format!("run{}of{}", wire.start, self.server.seat);
        let verdict = {
            let answer = CheckAnswer::new(marked.time, asked, answered);
            let answer = answer.run_id(&*run_id).marker(marked.marker.as_deref());
            node_check.lock().check(&answer)
        };
        let verdict = verdict.expect("each server is a node once");
        let (process, seat) = (self.process, self.server.seat);
        self.around
            .history
            .note(30, [process as u64, seat as u64], || {
                format!("c{process} judges n{seat}: {:?}", verdict.action)
            });
        // Before the gate opens: what was granted before counts no more.
        if verdict.is_new_epoch {
            self.begin_epoch();
        }
        let next = match verdict.action {
            Action::Vote => {
                self.open(wire, Gate::Voting);
                LOOKS_EVERY
            }
            Action::Write(write) => {
                self.hold(wire);
                self.ask(wire, Some(write));
                return;
            }
            Action::Hold { look_again, .. } => {
                self.hold(wire);
                look_again
            }
            _ => {
                self.hold(wire);
                LOOKS_EVERY
            }
        };
        let (wire, checks) = (Arc::clone(wire), wire.checks());
        self.later(next, move |link| {
            // Unless it was wanted before.
            if link.is_current(&wire) && wire.checks() == checks {
                link.ask(&wire, None);
            }
        });
    }

    /// Another node's check wants this one to be looked at, unless that is under way.
    fn look_now(&self) {
        let wire = self.lock().wire.clone();
        if let Some(wire) = wire.filter(|wire| wire.checks().is_some()) {
            self.ask(&wire, None);
        }
    }

    /// Has the doubts of other nodes' checks look at this node.
    pub(crate) fn heed_doubts(&self, me: &Weak<Self>) {
        if let Some(node_check) = &self.node_check {
            let me = Weak::clone(me);
            node_check.lock().on_doubt(Arc::new(move || {
                if let Some(link) = me.upgrade() {
                    link.later(Duration::ZERO, Link::look_now);
                }
            }));
        }
    }

    /// The node may not vote. It still serves releases.
    fn hold(&self, wire: &Arc<Wire>) {
        self.open(wire, Gate::Holding);
    }
}
