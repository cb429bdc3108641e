//! The master that sentinels name.
//!
//! All sentinels are asked at once, so a sentinel that hangs delays nothing. The newest answer counts, by the sentinels'
//! *configuration epoch*, the number of the failover. A majority of the sentinels votes for a failover, but at first only
//! its leader knows that it succeeded. The others learn it from the leader, up to two seconds later. So one sentinel is
//! believed against all others if it names a newer master, and the [`Floor`] remembers its answer. The sentinels alone
//! are not believed: the server that they name has to say that it is a master.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ::redis::Pipeline;
use ::redis::aio::MultiplexedConnection;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::env::caught::log;
use crate::node::{NodeError, Value};
use crate::quorum::majority;
use crate::redis::address::{Sentinel, Server};
use crate::redis::errors::{lost, not_connected, rejected};
use crate::redis::inbox::Inbox;

use super::connection::actor::Moved;
use super::connection::connect;
use super::newest::{Dated, newest};
use super::vetting::{Facts, pairs};

/// The pause after each answer of a sentinel to a connected node.
const PAUSE: Duration = Duration::from_millis(500);

/// A time after which sentinels agree: each tells the others every two seconds what it knows.
const AGREED_AFTER: Duration = Duration::from_secs(10);

/// Finds the present master, and what completes once a newer failover has made another server the master.
///
/// Dropping the futures closes the connections to sentinels.
pub(super) async fn master(
    of: &Sentinel,
    inbox: &Arc<Inbox>,
    floor: &Arc<Mutex<Floor>>,
) -> Result<(Server, Moved), NodeError> {
    let (of, inbox, floor) = (of.clone(), Arc::clone(inbox), Arc::clone(floor));
    let view = View { of, inbox, floor };
    let (failover, server) = view.newest().await?;
    let master = server.clone();
    let moved = async move {
        let watch = |sentinel| view.watch(sentinel, failover, &server);
        let watches: FuturesUnordered<_> = view.of.sentinels.iter().map(watch).collect();
        { watches }.select_next_some().await
    };
    Ok((master, Box::pin(moved)))
}

/// Remembers the newest answer of all sentinels. It outlives connections: so whichever sentinels answer, a node that has
/// left a deposed master never goes back to that master.
#[derive(Default)]
pub(super) struct Floor {
    newest: Option<Dated<Server>>,
    /// The sentinels that have answered less than that, and since when.
    older: BTreeMap<String, Instant>,
    /// Those of them that have answered less for [`AGREED_AFTER`].
    forgetful: BTreeSet<String>,
}

impl Floor {
    fn is_reached_by(&self, told: &Dated<Server>) -> bool {
        self.newest.as_ref().is_none_or(|it| told.0 >= it.0)
    }

    /// Adds the answer of one `of` so many sentinels. Returns a text for the log when the sentinel is found forgetful.
    ///
    /// If all sentinels are forgetful, their group was set up again, and its epochs have begun again. Then the floor is
    /// dropped.
    fn add(
        &mut self,
        told: &Dated<Server>,
        by: &Server,
        of: usize,
        now: Instant,
    ) -> Option<String> {
        if self.is_reached_by(told) {
            *self = Self::default();
            self.newest = Some(told.clone());
        }
        let (failover, master) = self.newest.clone().filter(|it| told.0 < it.0)?;
        let since = *self.older.entry(by.to_string()).or_insert(now);
        if now.duration_since(since) < AGREED_AFTER || !self.forgetful.insert(by.to_string()) {
            return None;
        }
        let outcome = if self.forgetful.len() == of {
            *self = Self::default();
            "all sentinels have, so their answers count"
        } else {
            "it counts until all sentinels have, or this process is restarted"
        };
        Some(format!(
            "{by} has forgotten failover {failover} to {master}; {outcome}"
        ))
    }
}

/// The sentinels as one node sees them.
struct View {
    of: Sentinel,
    inbox: Arc<Inbox>,
    floor: Arc<Mutex<Floor>>,
}

impl View {
    /// Asks all sentinels for the newest answer. If no answer of a majority reaches the floor, the others are waited for.
    /// If theirs do not either, the floor is the answer.
    async fn newest(&self) -> Result<Dated<Server>, NodeError> {
        let (sentinels, within) = (&self.of.sentinels, self.inbox.options.connect_timeout / 2);
        let ask = async |sentinel| self.ask(&sentinel, &mut None).await;
        let is_enough = |told: &[_]| {
            let is_reached = told.iter().any(|it| self.floor.lock().is_reached_by(it));
            is_reached && told.len() >= majority(sentinels.len())
        };
        let told = newest(sentinels, ask, within, &self.inbox.time, is_enough).await;
        let none = |error| not_connected(format!("no sentinel names a master: {error}"));
        let told = told.map_err(none)?;
        Ok(self.floor.lock().newest.clone().unwrap_or(told))
    }

    /// Asks a sentinel until the newest answer has another failover than `failover` and another server than `server`.
    /// Returns the reason to leave `server`.
    async fn watch(&self, sentinel: &Server, failover: u64, server: &Server) -> NodeError {
        let mut kept = None;
        loop {
            let asked = self.ask(sentinel, &mut kept);
            let within = self.inbox.options.connect_timeout / 2;
            // The connection stays also if no sentinel answers.
            let _ = self.inbox.time.timeout(within, asked).await;
            let newest = self.floor.lock().newest.clone();
            match newest {
                Some((latest, other)) if latest != failover && other != *server => {
                    return lost(format!("the sentinels name another master, {other}"));
                }
                _ => self.inbox.time.sleep(PAUSE).await,
            }
        }
    }

    async fn ask(
        &self,
        sentinel: &Server,
        kept: &mut Option<MultiplexedConnection>,
    ) -> Result<Dated<Server>, NodeError> {
        let of = &self.of;
        // The epoch is asked first: if the master moves in between, the new address has the old epoch, and loses against a
        // sentinel that knows better. In the other order the old address would win.
        let mut questions = Pipeline::new();
        for what in ["MASTER", "GET-MASTER-ADDR-BY-NAME"] {
            questions.cmd("SENTINEL").arg(what).arg(&of.master);
        }
        let answers = connect::ask(sentinel, &questions, kept).await?;
        let (about, place) = match &answers[..] {
            [_, Value::Error(text)] => return Err(rejected(NodeError::server(text))),
            [about, place] => (Facts::of(about), place),
            _ => return Err(not_connected("its answer is not valid")),
        };
        let unknown = || not_connected(format!("it knows no address of `{}`", of.master));
        let server = server(place, &of.of_master).ok_or_else(unknown)?;
        // Zero if the sentinel's ACL hides it.
        let failover = about.get("config-epoch").and_then(|it| it.parse().ok());
        let told = (failover.unwrap_or(0), server);
        let (of, now) = (of.sentinels.len(), self.inbox.time.now());
        let forgotten = self.floor.lock().add(&told, sentinel, of, now);
        if let Some(reason) = forgotten {
            log!(warn, pool = %self.inbox.log.pool, %reason, "a sentinel has forgotten a failover");
        }
        Ok(told)
    }
}

fn server(place: &Value, of_master: &Server) -> Option<Server> {
    let (host, port) = pairs(place).next()?;
    let (host, port) = (str::from_utf8(host).ok()?, str::from_utf8(port).ok()?);
    of_master.at(Some(host), port.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::address::{RedisAddress, Target};

    fn master() -> Server {
        let address = RedisAddress::parse("redis://h").unwrap();
        let Target::Server(server) = address.0 else {
            unreachable!("one server");
        };
        server
    }

    #[test]
    fn what_cannot_be_a_host_and_a_port_is_not_believed() {
        let answer = |host: &str, port: &str| {
            let words = [host, port].map(|word| Value::text(word.as_bytes().to_vec()));
            server(&Value::List(words.into()), &master()).map(|it| it.to_string())
        };
        assert_eq!(answer("::1", "7001").as_deref(), Some("::1:7001"));
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
