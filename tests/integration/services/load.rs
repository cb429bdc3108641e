//! Requests to a service that is about to be asked to end, and what came of each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use redlock_tests::{HttpReply, Section};
use tokio::task::JoinSet;

use crate::services::fleet::{charge, key, post};

/// Callers that send one request after the other.
#[derive(Default)]
pub(crate) struct Load {
    callers: JoinSet<Vec<Answer>>,
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
}

/// What became of one request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) order: u64,
    pub(crate) reply: HttpReply,
}

/// The three answers that these services may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The body ran to its end.
    Done,
    /// The body was cut off.
    CutOff,
    /// No body ran.
    Refused,
}

impl Load {
    /// One caller for each of the orders, until the process takes no more requests.
    pub(crate) fn start(addr: SocketAddr, orders: impl IntoIterator<Item = u64>) -> Self {
        let mut load = Self::default();
        for order in orders {
            let (is_over, answered) = (Arc::clone(&load.is_over), Arc::clone(&load.answered));
            load.callers.spawn(async move {
                let mut answers = Vec::new();
                loop {
                    match post(addr, &charge(order)).await {
                        Ok(reply) => answers.push(Answer { order, reply }),
                        // Refused, or accepted by the system and by no handler. That no body ran
                        // is for the journal to show.
                        Err(_) if is_over.load(Ordering::SeqCst) => return answers,
                        Err(error) => panic!("no answer: {error}"),
                    }
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        load
    }

    /// How many requests have been answered.
    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }

    /// From here on the process may take no more requests.
    pub(crate) fn may_be_refused(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    pub(crate) async fn answers(self) -> Vec<Answer> {
        self.callers
            .join_all()
            .await
            .into_iter()
            .flatten()
            .collect()
    }
}

impl Answer {
    /// Panics if the answer is not one of the three outcomes.
    pub(crate) fn outcome(&self) -> Outcome {
        let Self { order, reply } = self;
        if reply.status == 200 {
            assert_eq!(reply.body, format!("{} is done", key(*order)));
            return Outcome::Done;
        }
        let media_type = reply.header("content-type");
        assert_eq!(media_type, Some("application/problem+json"), "{self:?}");
        match reply.status {
            503 if reply.body.contains("was stopped before it was done") => Outcome::CutOff,
            423 | 503 => Outcome::Refused,
            _ => panic!("{self:?}"),
        }
    }
}

/// Whether what callers were told of one order is what its bodies did.
pub(crate) fn check_answers(answers: &[&Answer], sections: &[&Section]) {
    let told = |outcome| answers.iter().filter(|it| it.outcome() == outcome).count();
    let done = sections.iter().filter(|section| section.is_done).count();
    let counts = (told(Outcome::Done), told(Outcome::CutOff));
    assert_eq!(
        counts,
        (done, sections.len() - done),
        "done and cut off, as callers were told, and as it was:\n{answers:#?}\n{sections:#?}"
    );
}
