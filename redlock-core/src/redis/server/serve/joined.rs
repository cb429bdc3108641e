//! Calls that are made by one.
//!
//! A script call of its own costs a server more than a lock costs in a call for many, and a process with many callers
//! releases some at a time. The driver sends releases together that are neighbours in the inbox, and writes acquisitions
//! of other keys ahead of them. So calls that have a key in common keep their order.
//!
//! Each lock is judged by itself. A release whose result the call does not name is sent again by itself.

use tokio::time::Instant;

use crate::kinds::exclusive::RELEASE_EACH;
use crate::node::{Answer, Call, Effect, Script};
use crate::redis::protocol::command::{
    MOST_JOINED, encode, encode_joined, is_call_refused, is_noscript, value_of_each,
};
use crate::redis::protocol::wire::Value;

use super::super::inbox::Submission;
use super::{Purpose, Serve};

/// The releases that go in the next call.
#[derive(Default)]
pub(super) struct Kept {
    releases: Vec<Submission>,
    /// True if the server has forgotten the script: the next call has its text.
    is_unknown: bool,
}

impl Kept {
    fn script(&self) -> Option<&'static Script> {
        self.releases.first().map(|_| &RELEASE_EACH)
    }
}

impl Serve {
    /// Keeps a release for the next call. Before any other call, sends the kept ones, and returns the submission.
    pub(super) fn keep(&mut self, submission: Submission, since: Instant) -> Option<Submission> {
        let script = submission.call.joins().map(|_| &RELEASE_EACH);
        if !self.may_join(&submission) {
            if !self.goes_ahead(&submission.call) {
                self.send_kept(since);
            }
            return Some(submission);
        }
        let kept = &self.kept;
        if kept.releases.len() == MOST_JOINED || kept.script().is_some_and(|it| Some(it) != script)
        {
            self.send_kept(since);
        }
        self.kept.releases.push(submission);
        None
    }

    /// True if it may be made by one call with others.
    fn may_join(&self, submission: &Submission) -> bool {
        self.encoding.joins && submission.call.is_release() && submission.call.joins().is_some()
    }

    /// True if `call` may be served before the releases that are kept: it acquires another key. Without this rule
    /// few releases would be neighbours, as of many callers some acquire while others release.
    fn goes_ahead(&self, call: &Call) -> bool {
        let mut kept = self.kept.releases.iter();
        call.joins().is_some()
            && call.effect() == Effect::Takes
            && kept.all(|it| it.call.first_key() != call.first_key())
    }

    /// Sends the releases that were kept.
    pub(super) fn send_kept(&mut self, since: Instant) {
        if let (Some(script), 2..) = (self.kept.script(), self.kept.releases.len()) {
            let releases = std::mem::take(&mut self.kept.releases);
            let with_text = std::mem::take(&mut self.kept.is_unknown);
            let calls = releases.iter().map(|it| &*it.call);
            encode_joined(script, calls, with_text, &mut self.output);
            self.push(since, Purpose::Joined(releases));
        } else if let Some(submission) = self.kept.releases.pop() {
            self.send(submission, since);
        }
    }

    /// Answers the releases of a call, and sends those again that the call did not decide.
    pub(super) fn answer_joined(
        &mut self,
        releases: Vec<Submission>,
        since: Instant,
        value: &Value<'_>,
    ) {
        self.kept.is_unknown |= is_noscript(value);
        if is_call_refused(value) {
            self.encoding.joins = false;
        }
        for (place, it) in releases.into_iter().enumerate() {
            if let Some(value) = value_of_each(value, place) {
                self.count_since(since);
                self.answered += 1;
                let epoch = self.epoch;
                it.reply.answer(Answer::Reply { value, epoch });
            } else {
                self.release_for_certain(it);
            }
        }
    }

    /// Sends a release again, with its text: the server may have forgotten its scripts. It has answered, so the wait
    /// for the second answer begins anew.
    fn release_for_certain(&mut self, release: Submission) {
        encode(&release.call, &self.encoding, true, &mut self.output);
        self.push(self.heard, Purpose::Call(release));
    }

    /// Takes out the releases of the next call: the driver may have panicked between keeping and sending.
    pub(super) fn take_kept(&mut self) -> Purpose {
        Purpose::Joined(std::mem::take(&mut self.kept.releases))
    }
}
