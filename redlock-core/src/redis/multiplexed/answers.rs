//! The server's replies.

use ::redis::Value as Theirs;
use tokio::time::Instant;

use crate::env::caught::caught;
use crate::node::Value;
use crate::node::{Answer, Call, NodeError, Vote};
use crate::redis::connection::errors::lost;
use crate::redis::server::inbox::{Owed, Submission};

use super::actor::{Actor, Flight, Purpose};
use super::command::{command, is_marker_gone, is_noscript, is_of_replica, value};

impl Actor {
    pub(super) fn answer(&mut self, flight: Flight, theirs: Theirs) -> Result<(), NodeError> {
        let value = value(theirs);
        if self.leaves_a_replica && is_of_replica(&value) {
            // The server did not serve the operation. If it is a release, it is owed to the next master.
            self.put_back(flight);
            return Err(lost("the server is a replica now"));
        }
        let since = flight.since;
        match flight.purpose {
            Purpose::Many(calls) => self.answer_many(calls, since, value),
            Purpose::Call(submission) => {
                if is_noscript(&value) {
                    self.load_scripts();
                    if submission.call.is_release() {
                        // The script was not run, so sending it with its text runs it for the first time.
                        let command = command(&submission.call, &self.dialect, true);
                        self.send(command, self.heard, Purpose::Call(submission));
                        return Ok(());
                    }
                }
                self.count(since);
                self.tell(submission, value);
            }
            Purpose::Owed(owed) => {
                if is_noscript(&value) {
                    let command = command(&owed.call, &self.dialect, true);
                    self.send(command, self.heard, Purpose::Owed(owed));
                    return Ok(());
                }
                self.count(since);
                self.tell_owed(owed, value);
            }
            Purpose::Check => {
                // A refusal ends the connection, and does not count as an answer.
                self.checked(&value)?;
                self.count(since);
            }
            Purpose::Heartbeat => self.count(since),
            Purpose::Scripts => self.is_loading = false,
            Purpose::Memory => {
                self.count(since);
                return self.vet_memory(&value);
            }
            Purpose::Probe => {
                self.count(since);
                self.probed(&value);
            }
            Purpose::Tracking => self.tracks(&value),
            Purpose::Look(key) => self.seen(key, &value),
        }
        Ok(())
    }

    /// Delivers the server's reply to a caller.
    pub(super) fn tell(&mut self, submission: Submission, value: Value) {
        if is_marker_gone(&value) {
            self.doubt();
        }
        if is_noscript(&value) {
            // Nothing was done.
            let error =
                NodeError::server(b"NOSCRIPT the server had forgotten the scripts").into_unsent();
            return self.fail(submission, error);
        }
        let call = &submission.call;
        let is_settled = self.is_settled(call, &value);
        let answer = Answer::of_reply(call, value, self.epoch);
        let answer = self.as_far_as_it_counts(call, answer);
        if let Answer::Failed(error) = answer {
            return self.fail(submission, error);
        }
        self.judge(call, &answer);
        self.answered += 1;
        if !is_settled && let Some(mut owed) = submission.owed(&self.inbox.time) {
            owed.is_answered = true;
            self.owe(owed);
        }
        submission.reply.answer(answer);
    }

    /// Tells a caller that the server did not serve the call. A release is owed.
    pub(super) fn fail(&mut self, submission: Submission, error: NodeError) {
        self.answered += 1;
        if let Some(owed) = submission.owed(&self.inbox.time) {
            self.owe_refused(owed, &error);
        }
        self.inbox.metrics.failed(error.kind(), 1);
        self.inbox.metrics.record_error(&error);
        let answer = Answer::Failed(error);
        self.judge(&submission.call, &answer);
        submission.reply.answer(answer);
    }

    /// Records the answer to an owed release.
    fn tell_owed(&mut self, mut owed: Owed, value: Value) {
        let is_settled = self.is_settled(&owed.call, &value);
        match Answer::of_reply(&owed.call, value, self.epoch) {
            Answer::Failed(error) => {
                self.inbox.metrics.record_error(&error);
                self.owe_refused(owed, &error);
                self.tried(false);
            }
            Answer::Reply { .. } if !is_settled => {
                owed.is_answered = true;
                self.owe(owed);
                self.tried(false);
            }
            Answer::Reply { .. } => self.tried(true),
        }
    }

    /// False for a release that found nothing although its acquisition was never answered: the acquisition may lie in an
    /// old socket of a server that stands still, and come later.
    fn is_settled(&mut self, call: &Call, value: &Value) -> bool {
        if !self.has_lost || !call.is_release() || !self.inbox.is_lost(call) {
            return true;
        }
        let answer = Answer::of_reply(call, value.clone(), self.epoch);
        let is_released = matches!(call.vote(answer), Vote::Granted { .. });
        if is_released {
            self.has_lost = self.inbox.found(call);
        }
        is_released
    }

    /// Counts an answer. Its latency ends when it was read, so no clock is read for each answer.
    pub(super) fn count(&self, since: Instant) {
        let after = self.heard.saturating_duration_since(since);
        self.inbox.metrics.answered(after);
        if let Some(observer) = &self.options.answers {
            caught("an observer of answers", || observer.answered(after));
        }
    }
}
