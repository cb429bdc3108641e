//! Asking sentinels where the master is, as the Redis documentation wants it of clients ("Guidelines for
//! Redis clients with support for Redis Sentinel"), with two differences.
//!
//! All sentinels are asked at once, so a sentinel that hangs delays nothing. And of several answers
//! the newest counts, by the sentinels' *configuration epoch*. The sentinels alone are not believed:
//! the server that they name has to say that it is a master. The module `redis::server` says when the
//! driver asks.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncReadExt as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::model::brief::Brief;
use crate::node::NodeError;
use crate::quorum::majority;

use super::address::{Endpoint, Sentinel, Server, is_host};
use super::connection::backoff::jittered;
use super::connection::errors::{broken, not_connected};
use super::connection::handshake::{dial, exchange, greet, pairs, send};
use super::protocol::wire::{Value, pack};

/// A sentinel's answer about a master.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) endpoint: Endpoint,
    /// The number of the failover that made it master, if the sentinel's ACL shows it.
    pub(super) epoch: Option<u64>,
}

/// Asks all sentinels. Takes the newest answer once a majority of them has named a master, all have
/// answered, or the time is over.
///
/// Dropping the future closes the connections.
pub(super) async fn ask(of: &Sentinel, within: Duration) -> Result<Named, NodeError> {
    let until = Instant::now() + within;
    let mut asking = JoinSet::new();
    for (seat, sentinel) in of.sentinels.iter().enumerate() {
        let (sentinel, master) = (sentinel.clone(), of.master.clone());
        asking.spawn(async move { (seat, ask_one(&sentinel, &master).await) });
    }
    let mut answers: Answers = of.sentinels.iter().map(|_| None).collect();
    while !is_decided(&answers) {
        match timeout_at(until, asking.join_next()).await {
            Ok(Some(Ok((seat, answer)))) => answers[seat] = Some(answer),
            Ok(Some(Err(_))) => {}
            Ok(None) | Err(_) => break,
        }
    }
    newest(&answers).ok_or_else(|| {
        let reasons = of.sentinels.iter().zip(&answers).map(|(sentinel, answer)| {
            if let Some(Err(reason)) = answer {
                format!("sentinel {sentinel}: {reason}")
            } else {
                format!("sentinel {sentinel}: no answer within {}", Brief(within))
            }
        });
        not_connected(reasons.collect::<Vec<_>>().join("; "))
    })
}

/// The answers in the order of the sentinels; `None` for a sentinel that has not answered yet.
type Answers = Vec<Option<Result<Named, NodeError>>>;

fn named(answers: &Answers) -> impl DoubleEndedIterator<Item = &Named> {
    answers.iter().flatten().flatten()
}

/// A failover needs a majority of the sentinels, so every majority contains a sentinel that knows of
/// it.
fn is_decided(answers: &Answers) -> bool {
    named(answers).count() >= majority(answers.len())
}

/// The newest answer, and the first one of several that are equally new: a client then does not switch
/// between two spellings of one server.
fn newest(answers: &Answers) -> Option<Named> {
    let newest = named(answers).rev().max_by_key(|named| named.epoch);
    newest.cloned()
}

/// Notifies `doubts` when a sentinel says that the master may have moved.
///
/// After an orderly failover the old master stays one for seconds (Sentinel demotes it some time after
/// it has told of the new one), and nothing else tells its clients. The notification is a hint: the
/// receiver asks the sentinels. A missed hint only costs time. Dropping it closes the connections.
pub(super) struct Listening {
    _tasks: JoinSet<()>,
}

impl Listening {
    /// A connection that broke is made again after about `pause`, and each is replaced after `pause * 6`: it
    /// may have died in silence.
    pub(super) fn to(of: &Sentinel, doubts: &Arc<Notify>, pause: Duration) -> Self {
        let mut tasks = JoinSet::new();
        for sentinel in &of.sentinels {
            let (sentinel, doubts) = (sentinel.clone(), Arc::clone(doubts));
            tasks.spawn(async move {
                loop {
                    if timeout(pause * 6, listen(&sentinel, &doubts)).await.is_ok() {
                        tokio::time::sleep(jittered(pause)).await;
                    }
                }
            });
        }
        Self { _tasks: tasks }
    }
}

/// Subscribes to completed failovers, until the connection breaks.
async fn listen(sentinel: &Server, doubts: &Notify) -> Result<(), NodeError> {
    let mut stream = dial(sentinel).await?;
    let mut buffer = BytesMut::new();
    greet(&mut *stream, &mut buffer, &sentinel.login).await?;
    let subscription = pack([b"SUBSCRIBE".as_slice(), b"+switch-master"].into_iter());
    let sent = send(&mut *stream, &subscription).await;
    sent.map_err(|error| broken(&error))?;
    // Any bytes are a reason to ask, the answer to the subscription too: the master may have moved before it.
    while stream.read_buf(&mut buffer).await.unwrap_or(0) > 0 {
        buffer.clear();
        doubts.notify_one();
    }
    Ok(())
}

async fn ask_one(sentinel: &Server, master: &str) -> Result<Named, NodeError> {
    let mut stream = dial(sentinel).await?;
    let mut buffer = BytesMut::new();
    greet(&mut *stream, &mut buffer, &sentinel.login).await?;
    // The epoch is asked first: if the master moves in between, the new address has the old epoch, and
    // loses against a sentinel that knows better. In the other order the old address would win.
    let question = |what: &'static str| {
        let words = [b"SENTINEL".as_slice(), what.as_bytes(), master.as_bytes()];
        pack(words.into_iter())
    };
    let epoch = exchange(&mut *stream, &mut buffer, &question("MASTER"), epoch).await?;
    let answer = question("GET-MASTER-ADDR-BY-NAME");
    let answer = exchange(&mut *stream, &mut buffer, &answer, master_answer).await?;
    match answer {
        Ok(MasterAnswer::At(endpoint)) => Ok(Named {
            endpoint,
            epoch: epoch.ok().flatten(),
        }),
        Ok(MasterAnswer::Unknown) => Err(not_connected(format!("it does not know `{master}`"))),
        Ok(MasterAnswer::Nonsense) => Err(nonsense()),
        Err(error) if error.starts_with("ERR unknown command") => {
            Err(not_connected("it is not a sentinel"))
        }
        Err(error) => Err(not_connected(error)),
    }
}

fn nonsense() -> NodeError {
    not_connected("its answer is not valid")
}

enum MasterAnswer {
    At(Endpoint),
    Unknown,
    Nonsense,
}

fn master_answer(value: &Value<'_>) -> MasterAnswer {
    match value {
        Value::Nil => MasterAnswer::Unknown,
        Value::Array(words) => match &words[..] {
            [Value::Bulk(host), Value::Bulk(port)] => endpoint(host, port),
            _ => None,
        }
        .map_or(MasterAnswer::Nonsense, MasterAnswer::At),
        _ => MasterAnswer::Nonsense,
    }
}

fn endpoint(host: &[u8], port: &[u8]) -> Option<Endpoint> {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let (host, port) = (text(host)?, text(port)?.parse().ok()?);
    is_host(host).then(|| Endpoint::Tcp(host.to_ascii_lowercase(), port))
}

fn epoch(value: &Value<'_>) -> Option<u64> {
    let (_, epoch) = pairs(value)
        .into_iter()
        .find(|(name, _)| name == b"config-epoch")?;
    std::str::from_utf8(&epoch).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
