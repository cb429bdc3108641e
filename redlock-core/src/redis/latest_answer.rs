//! Asks several servers a question and takes the latest answer. Some of the servers may be outdated, hang or be down.

use std::future::Future;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use crate::io_thread::LibraryTime;
use crate::model::brief::Brief;
use crate::node::NodeError;

use super::address::Server;
use super::errors::{not_connected, together};

/// A server's answer, with the number of the last failover that the server knows. If servers disagree, the answer with
/// the highest number is right.
#[derive(Clone, Copy)]
pub(super) struct DatedAnswer<T> {
    pub(super) failover: u64,
    pub(super) answer: T,
}

/// Asks all `servers` at once, and returns the latest answer. Each server has the time `within`. Returns early once
/// `is_enough` accepts the answers so far.
///
/// Dropping the future cancels the questions.
pub(super) async fn latest_answer<T, Ask: Future<Output = Result<DatedAnswer<T>, NodeError>>>(
    servers: &[Server],
    ask: impl Fn(Server) -> Ask,
    within: Duration,
    time: &LibraryTime,
    is_enough: impl Fn(&[DatedAnswer<T>]) -> bool,
) -> Result<DatedAnswer<T>, NodeError> {
    let asking = servers.iter().map(|server| {
        let asked = time.timeout(within, ask(server.clone()));
        let late = || not_connected(format!("no answer within {}", Brief(within)));
        async move {
            let told = asked.await.unwrap_or_else(|_| Err(late()));
            told.map_err(|error| (server.clone(), error))
        }
    });
    let mut asking: FuturesUnordered<_> = asking.collect();
    let (mut told, mut errors) = (Vec::new(), Vec::new());
    while let Some(ended) = asking.next().await {
        match ended {
            Ok(answer) => told.push(answer),
            Err(error) => errors.push(error),
        }
        if is_enough(&told) {
            break;
        }
    }
    let latest = told.into_iter().max_by_key(|it| it.failover);
    latest.ok_or_else(|| together(&errors))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::quorum::majority;
    use crate::redis::address;

    const OLD: DatedAnswer<&str> = DatedAnswer {
        failover: 3,
        answer: "old",
    };
    const NEW: DatedAnswer<&str> = DatedAnswer {
        failover: 4,
        answer: "new",
    };

    /// Asks a server for each of `answers`, and returns the latest answer. `None` is a server that hangs.
    async fn ask(
        answers: &[Option<Result<DatedAnswer<&'static str>, &'static str>>],
    ) -> Result<&'static str, String> {
        let server = address::tests::server("redis://h");
        let at = |port| server.at(Some("h"), port).expect("a host");
        let servers: Vec<_> = (0..).map(at).take(answers.len()).collect();
        let answer = |asked: Server| {
            let mut all = servers.iter().zip(answers);
            let answer = *all.find(|(server, _)| **server == asked).unwrap().1;
            async move {
                match answer {
                    Some(answer) => ready(answer.map_err(not_connected)).await,
                    None => pending().await,
                }
            }
        };
        let within = Duration::from_millis(10);
        let time = LibraryTime::default();
        let is_enough = |told: &[_]| told.len() >= majority(answers.len());
        let latest = latest_answer(&servers, answer, within, &time, is_enough).await;
        latest.map(|it| it.answer).map_err(|it| it.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_was_cut_off_does_not_name_the_old_master() {
        for answers in [
            [Some(Ok(OLD)), Some(Ok(NEW)), None],
            [Some(Ok(NEW)), Some(Err("down")), Some(Ok(OLD))],
        ] {
            assert_eq!(ask(&answers).await.unwrap(), "new");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_majority_the_time_of_the_others_passes_first() {
        let few = [Some(Ok(OLD)), None, Some(Err("down"))];
        assert_eq!(ask(&few).await.unwrap(), "old");
        let error = ask(&[Some(Err("down")), None]).await.unwrap_err();
        assert_eq!(error, "h:0: down; h:1: no answer within 10 ms");
    }
}
