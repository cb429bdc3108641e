//! The server's replies.

use std::task::Context;

use tokio::time::Instant;

use crate::env::caught::caught;
use crate::node::{Answer, NodeError};
use crate::redis::connection::errors::garbled;
use crate::redis::connection::transfer;
use crate::redis::protocol::command::{answer, encode, is_marker_gone, is_noscript};
use crate::redis::protocol::wire::Value;

use super::super::inbox::{Owed, Submission};
use super::{InFlight, Purpose, Serve};

impl Serve {
    /// Reads and answers until no more bytes are there.
    pub(super) fn read(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        while let Some(count) = transfer::read(&mut self.stream, self.input.room(), context)? {
            self.input.arrived(count);
            self.heard = Instant::now();
            self.answer_all()?;
        }
        Ok(())
    }

    fn answer_all(&mut self) -> Result<(), NodeError> {
        let mut input = std::mem::take(&mut self.input);
        while let Some((value, length)) = input.reply().map_err(|_| garbled())? {
            let oldest = self.in_flight.pop_front().ok_or_else(garbled)?;
            self.trust_again();
            self.answer(oldest, &value)?;
            input.advance(length);
        }
        input.cut();
        self.input = input;
        Ok(())
    }

    fn answer(&mut self, in_flight: InFlight, value: &Value<'_>) -> Result<(), NodeError> {
        if let Purpose::Joined(releases) = in_flight.purpose {
            self.answer_joined(releases, in_flight.since, value);
            return Ok(());
        }
        let call = match &in_flight.purpose {
            Purpose::Call(Submission { call, .. }) | Purpose::Owed(Owed { call, .. }) => call,
            Purpose::Joined(..) | Purpose::Heartbeat => {
                self.count(&in_flight);
                return Ok(());
            }
            Purpose::Memory => {
                self.count(&in_flight);
                return self.vet_memory(value);
            }
            Purpose::Probe => {
                self.count(&in_flight);
                self.probed(value);
                return Ok(());
            }
            Purpose::Check => {
                // A refusal ends the connection, and does not count as an answer.
                self.checked(value)?;
                self.count(&in_flight);
                return Ok(());
            }
        };
        if is_noscript(value) && !self.is_overtaken(call) {
            // The script was not run, so sending it with its text runs it for the first time.
            encode(call, &self.encoding, true, &mut self.output);
            self.in_flight.push_back(in_flight);
            return Ok(());
        }
        self.count(&in_flight);
        self.tell(in_flight.purpose, value);
        Ok(())
    }

    /// Delivers the answer to the caller. The answer to an owed release goes to the retries.
    fn tell(&mut self, purpose: Purpose, value: &Value<'_>) {
        let epoch = self.epoch;
        let answer = |call| answer(call, value, epoch);
        match purpose {
            Purpose::Call(submission) => {
                self.answered += 1;
                if is_marker_gone(value) {
                    self.doubt();
                }
                let call = &submission.call;
                let answer = self.as_far_as_it_counts(call, answer(call));
                if let Answer::Failed(error) = &answer {
                    if let Some(owed) = submission.owed(&self.inbox.time) {
                        self.owe(owed, error);
                    }
                    self.inbox.metrics.failed(error.kind(), 1);
                    self.inbox.metrics.record_error(error);
                }
                self.judge(call, &answer);
                submission.reply.answer(answer);
            }
            Purpose::Owed(owed) => {
                let refusal = match answer(&owed.call) {
                    Answer::Failed(error) => Some(error),
                    _ => None,
                };
                if let Some(error) = &refusal {
                    self.owe(owed, error);
                    self.inbox.metrics.record_error(error);
                }
                self.tried(refusal.is_none());
            }
            Purpose::Joined(..)
            | Purpose::Heartbeat
            | Purpose::Check
            | Purpose::Memory
            | Purpose::Probe => {}
        }
    }

    /// Counts the answer. Its latency ends when its bytes were read, so no clock is read for each
    /// answer.
    fn count(&self, in_flight: &InFlight) {
        self.count_since(in_flight.since);
    }

    pub(super) fn count_since(&self, since: Instant) {
        let after = self.heard.saturating_duration_since(since);
        self.inbox.metrics.answered(after);
        if let Some(observer) = &self.options.answers {
            caught("an observer of answers", || observer.answered(after));
        }
    }
}
