//! The master that sentinels name.
//!
//! All sentinels are asked at once, so a sentinel that hangs delays nothing. Among the answers of a majority the newest
//! counts, by the sentinels' *configuration epoch*, the number of the failover: so a sentinel that was cut off together
//! with an old master does not send anybody back to that master. The sentinels alone are not believed: the server that
//! they name has to say that it is a master.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use ::redis::Pipeline;

use crate::model::brief::Brief;
use crate::node::{Node as _, NodeError, NodeErrorKind, NodeStatus, Value};
use crate::quorum::majority;
use crate::redis::address::{Sentinel, Server};
use crate::redis::backoff::jittered;
use crate::redis::errors::{lost, not_connected};
use crate::redis::inbox::Inbox;
use crate::redis::options::RedisOptions;

use super::connection::actor::Moved;
use super::connection::connect;
use super::connection::questions::pairs;

/// A sentinel's answer about a master.
#[derive(Clone)]
struct Named {
    server: Server,
    /// The number of the failover that made it the master, if the sentinel's ACL shows it.
    epoch: Option<u64>,
}

/// The answers in the order of the sentinels; `None` for a sentinel that has not answered yet.
type Answers = Vec<Option<Result<Named, NodeError>>>;

/// The present master, and what completes when a newer failover has made another server the master.
///
/// Dropping the future closes the connections to sentinels.
pub(super) async fn master<'a>(
    of: &'a Sentinel,
    inbox: &'a Inbox,
    options: &'a RedisOptions,
) -> Result<(Server, Moved<'a>), NodeError> {
    let from = ask(of, inbox, options).await?;
    Ok((
        from.server.clone(),
        Box::pin(moved(of, from, inbox, options)),
    ))
}

/// Asks the sentinels with each heartbeat, as a master that was cut off or replaced may still answer this client, and
/// again and again while an answer of the master is overdue.
///
/// Never completes if the sentinels do not tell the number of the failover.
async fn moved(of: &Sentinel, from: Named, inbox: &Inbox, options: &RedisOptions) -> NodeError {
    let is_suspect = || matches!(inbox.status(), NodeStatus::Abstaining(it) if it.kind() == NodeErrorKind::TimedOut);
    loop {
        let mut heartbeat = pin!(inbox.time.sleep(jittered(options.heartbeat)));
        let mut pause = pin!(inbox.time.sleep(options.suspect_after));
        // Polled in the task of the connection, and so also when the node becomes suspect.
        poll_fn(|context| match pause.as_mut().poll(context) {
            Poll::Ready(()) if is_suspect() => Poll::Ready(()),
            _ => heartbeat.as_mut().poll(context),
        })
        .await;
        // Otherwise the connection stays, also if no sentinel answers.
        if let Ok(now) = ask(of, inbox, options).await
            && now.server != from.server
            && now.epoch > from.epoch
        {
            let other = now.server;
            return lost(format!("the sentinels name another master, {other}"));
        }
    }
}

/// Asks all sentinels. Takes the newest answer once a majority of them has named a master, all have answered, or half
/// of the time for a connection is over.
async fn ask(of: &Sentinel, inbox: &Inbox, options: &RedisOptions) -> Result<Named, NodeError> {
    let within = options.connect_timeout / 2;
    let mut late = pin!(inbox.time.sleep(within));
    let ask = |sentinel| Box::pin(ask_one(sentinel, of));
    let mut questions: Vec<_> = of.sentinels.iter().map(ask).collect();
    let mut answers: Answers = vec![None; questions.len()];
    poll_fn(|context| {
        for (question, answer) in questions.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(given) = question.as_mut().poll(context)
            {
                *answer = Some(given);
            }
        }
        if is_decided(&answers) {
            return Poll::Ready(());
        }
        late.as_mut().poll(context)
    })
    .await;
    newest(&answers).cloned().ok_or_else(|| {
        let late = not_connected(format!("no answer within {}", Brief(within)));
        let reasons = of.sentinels.iter().zip(&answers).map(|(sentinel, answer)| {
            let answer = answer.as_ref().and_then(|it| it.as_ref().err());
            format!("sentinel {sentinel}: {}", answer.unwrap_or(&late))
        });
        not_connected(reasons.collect::<Vec<_>>().join("; "))
    })
}

/// A failover needs a majority of the sentinels, so every majority contains a sentinel that knows of it.
fn is_decided(answers: &Answers) -> bool {
    let named = answers.iter().flatten().flatten().count();
    named >= majority(answers.len()) || answers.iter().all(Option::is_some)
}

/// The newest answer, and the first among several that are equally new: a client then does not switch between two
/// spellings of one server.
fn newest(answers: &Answers) -> Option<&Named> {
    let named = answers.iter().flatten().flatten();
    named.rev().max_by_key(|named| named.epoch)
}

async fn ask_one(sentinel: &Server, of: &Sentinel) -> Result<Named, NodeError> {
    // The epoch is asked first: if the master moves in between, the new address has the old epoch, and loses against a
    // sentinel that knows better. In the other order the old address would win.
    let mut questions = Pipeline::new();
    for what in ["MASTER", "GET-MASTER-ADDR-BY-NAME"] {
        questions.cmd("SENTINEL").arg(what).arg(&of.master);
    }
    let mut answers = connect::ask(sentinel, &questions).await?.into_iter();
    let epoch = answers.next().as_ref().and_then(epoch);
    let place = answers.next().unwrap_or(Value::Nil);
    if let Some(server) = server(&place, &of.of_master) {
        return Ok(Named { server, epoch });
    }
    Err(not_connected(match &place {
        Value::Nil => format!("it does not know `{}`", of.master),
        Value::Error(text) if text.starts_with(b"ERR unknown command") => {
            "it is not a sentinel".to_owned()
        }
        Value::Error(text) => NodeError::server(text).to_string(),
        _ => "its answer is not valid".to_owned(),
    }))
}

fn server(place: &Value, of_master: &Server) -> Option<Server> {
    let (host, port) = pairs(place).next()?;
    let (host, port) = (str::from_utf8(host).ok()?, str::from_utf8(port).ok()?);
    of_master.at(host, port.parse().ok()?)
}

fn epoch(of_master: &Value) -> Option<u64> {
    let (_, epoch) = pairs(of_master).find(|(name, _)| *name == b"config-epoch")?;
    str::from_utf8(epoch).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::address::{RedisAddress, Target};

    fn master() -> Server {
        let address = RedisAddress::parse("redis://h").unwrap();
        let Target::Server(server) = address.target else {
            unreachable!("one server");
        };
        server
    }

    // Both functions return an element of `Answers`.
    #[allow(clippy::unnecessary_wraps)]
    fn at(host: &str, epoch: Option<u64>) -> Option<Result<Named, NodeError>> {
        let server = master().at(host, 6379).expect("a host");
        Some(Ok(Named { server, epoch }))
    }

    #[allow(clippy::unnecessary_wraps)]
    fn failed() -> Option<Result<Named, NodeError>> {
        Some(Err(not_connected("it was cut off")))
    }

    fn host(answers: &Answers) -> Option<String> {
        newest(answers).map(|named| named.server.to_string())
    }

    #[test]
    fn a_sentinel_that_was_cut_off_does_not_name_the_old_master() {
        let answers = vec![at("old", Some(3)), at("old", Some(3)), at("new", Some(4))];
        assert_eq!(host(&answers).as_deref(), Some("new:6379"));
        let answers = vec![at("old", None), at("new", Some(1))];
        assert_eq!(host(&answers).as_deref(), Some("new:6379"));
    }

    #[test]
    fn of_equal_answers_the_first_sentinels_counts() {
        let answers = vec![failed(), at("10.0.0.1", Some(3)), at("redis-1", Some(3))];
        assert_eq!(host(&answers).as_deref(), Some("10.0.0.1:6379"));
        assert_eq!(host(&vec![failed(), None]), None);
    }

    #[test]
    fn a_majority_that_names_a_master_is_enough() {
        assert!(!is_decided(&vec![at("a", None), failed(), None]));
        assert!(is_decided(&vec![at("a", None), None, at("b", Some(2))]));
        assert!(is_decided(&vec![at("a", None), failed(), failed()]));
        assert!(!is_decided(&vec![at("a", None), None]));
    }

    #[test]
    fn what_cannot_be_a_host_and_a_port_is_not_believed() {
        let answer = |host: &str, port: &str| {
            let words = [host, port].map(|word| Value::text(word.as_bytes().to_vec()));
            server(&Value::List(words.into()), &master()).map(|it| it.to_string())
        };
        assert_eq!(answer("::1", "7001").as_deref(), Some("[::1]:7001"));
        assert_eq!(answer("Redis-1", "7001").as_deref(), Some("redis-1:7001"));
        for (host, port) in [
            ("", "7001"),
            ("h", "seven"),
            ("h", "70000"),
            ("h\nerror: node b is down", "7001"),
            ("h\x1b[2J", "7001"),
        ] {
            assert_eq!(answer(host, port), None);
        }
    }
}
