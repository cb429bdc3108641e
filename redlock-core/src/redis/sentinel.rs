//! Finds the master that sentinels name.
//!
//! All sentinels are asked at once, so a sentinel that hangs delays nothing. Each answer has a *configuration epoch*,
//! the number of the last failover, and the highest epoch counts. A majority of the sentinels votes for a failover, but
//! at first only its leader knows that it succeeded. The leader tells the others, up to two seconds later. So a single
//! sentinel that names a newer master is believed against all others, and the [`Floor`] remembers its answer. The
//! answers of sentinels are not enough: the server that they name must say that it is a master.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ::redis::Pipeline;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use crate::io_thread::IoThread;
use crate::logging::log_caught;
use crate::node::{NodeError, Value};
use crate::quorum::majority;
use crate::redis::address::{Sentinel, Server};
use crate::redis::errors::{lost, not_connected, rejected};
use crate::redis::inbox::Inbox;
use crate::targets;

use super::connection::actor::Replaced;
use super::connection::connect;
use super::connection::open::Opened;
use super::latest_answer::{DatedAnswer, latest_answer};
use super::vetting::{ServerFacts, pairs};

/// The pause between an answer of a sentinel and the next question to it, while the node is connected.
const PAUSE_BETWEEN_QUESTIONS: Duration = Duration::from_millis(500);

/// A time after which all sentinels agree, because each of them shares its knowledge every two seconds.
const AGREED_AFTER: Duration = Duration::from_secs(10);

/// Finds the current master. Also returns a future that completes once a newer failover has replaced the master.
///
/// Dropping the futures closes their connections to sentinels.
pub(super) async fn master(
    of: &Sentinel,
    inbox: &Arc<Inbox>,
    floor: &Arc<Mutex<Floor>>,
    io: &IoThread,
) -> Result<(Server, Replaced), NodeError> {
    let group = SentinelGroup {
        of: of.clone(),
        inbox: Arc::clone(inbox),
        floor: Arc::clone(floor),
        io: io.clone(),
    };
    let present = group.latest().await?;
    let master = present.answer.clone();
    let replaced = async move {
        let follow = |sentinel| group.follow(sentinel, &present);
        let followed: FuturesUnordered<_> = group.of.sentinels.iter().map(follow).collect();
        { followed }.select_next_some().await
    };
    Ok((master, Box::pin(replaced)))
}

/// Remembers the latest answer that any sentinel has given. The floor outlives connections. So a node never returns to
/// a deposed master, even if only outdated sentinels answer.
#[derive(Default)]
pub(super) struct Floor {
    latest: Option<DatedAnswer<Server>>,
    /// Sentinels that gave an older answer, each with the moment of the first one.
    older: BTreeMap<String, Instant>,
    /// Sentinels whose answers have been older for [`AGREED_AFTER`].
    forgetful: BTreeSet<String>,
}

impl Floor {
    /// Records an answer of the sentinel `by`, out of `of` sentinels. Returns a log line if `by` proves forgetful.
    ///
    /// If all sentinels are forgetful, their group was set up again with new epochs. Then the floor is dropped.
    fn add(
        &mut self,
        told: &DatedAnswer<Server>,
        by: &Server,
        of: usize,
        now: Instant,
    ) -> Option<String> {
        let later = |it: &DatedAnswer<_>| told.failover < it.failover;
        let Some(latest) = self.latest.clone().filter(later) else {
            *self = Self::default();
            self.latest = Some(told.clone());
            return None;
        };
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
            "{by} has forgotten failover {} to {}; {outcome}",
            latest.failover, latest.answer
        ))
    }
}

/// Asks the sentinels on behalf of one node.
struct SentinelGroup {
    of: Sentinel,
    inbox: Arc<Inbox>,
    floor: Arc<Mutex<Floor>>,
    io: IoThread,
}

impl SentinelGroup {
    /// Asks all sentinels, and returns the latest answer, or the floor if the floor is newer. Returns early once a
    /// majority has answered and one answer reaches the floor.
    async fn latest(&self) -> Result<DatedAnswer<Server>, NodeError> {
        let (sentinels, within) = (&self.of.sentinels, self.inbox.options.connect_timeout / 2);
        let ask = async |sentinel| self.ask(&sentinel, &mut None).await;
        let is_enough = |told: &[DatedAnswer<_>]| {
            let floor = self.floor.lock();
            let floor = floor.latest.as_ref().map_or(0, |it| it.failover);
            told.len() >= majority(sentinels.len()) && told.iter().any(|it| it.failover >= floor)
        };
        let told = latest_answer(sentinels, ask, within, &self.inbox.time, is_enough).await;
        let none = |error| not_connected(format!("no sentinel names a master: {error}"));
        let told = told.map_err(none)?;
        Ok(self.floor.lock().latest.clone().unwrap_or(told))
    }

    /// Asks a sentinel again and again, until the floor has another failover and another server than `present`. Returns
    /// the reason to leave the present server.
    async fn follow(&self, sentinel: &Server, present: &DatedAnswer<Server>) -> NodeError {
        let mut kept = None;
        loop {
            let asked = self.ask(sentinel, &mut kept);
            let within = self.inbox.options.connect_timeout / 2;
            // Stay with the master if the sentinel is silent.
            let _ = self.inbox.time.timeout(within, asked).await;
            let latest = self.floor.lock().latest.clone();
            if let Some(it) = latest
                && it.failover != present.failover
                && it.answer != present.answer
            {
                return lost(format!("the sentinels name another master, {}", it.answer));
            }
            self.inbox.time.sleep(PAUSE_BETWEEN_QUESTIONS).await;
        }
    }

    async fn ask(
        &self,
        sentinel: &Server,
        kept: &mut Option<Opened>,
    ) -> Result<DatedAnswer<Server>, NodeError> {
        let of = &self.of;
        // Ask for the epoch first. If the master moves between the two answers, its new address gets the old epoch, and
        // a sentinel that knows the new epoch wins. In the other order, the old address would win with the new epoch.
        let mut questions = Pipeline::new();
        for what in ["MASTER", "GET-MASTER-ADDR-BY-NAME"] {
            questions.cmd("SENTINEL").arg(what).arg(&of.master);
        }
        let answers = connect::ask_server(sentinel, &questions, kept, &self.io).await?;
        let (about, place) = match &answers[..] {
            [_, Value::Error(text)] => return Err(rejected(NodeError::server(text))),
            [about, place] => (ServerFacts::of(about), place),
            _ => return Err(not_connected("its answer is not valid")),
        };
        let unknown = || not_connected(format!("it knows no address of `{}`", of.master));
        let answer = server(place, &of.of_master).ok_or_else(unknown)?;
        // The epoch is zero if the sentinel's ACL hides it.
        let failover = about.get("config-epoch").and_then(|it| it.parse().ok());
        let failover = failover.unwrap_or(0);
        let told = DatedAnswer { failover, answer };
        let (of, now) = (of.sentinels.len(), self.inbox.time.now());
        let forgotten = self.floor.lock().add(&told, sentinel, of, now);
        if let Some(reason) = forgotten {
            log_caught!(warn!(
                target: targets::NODE, pool = %self.inbox.log.pool, %reason,
                "a sentinel has forgotten a failover",
            ));
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
    use crate::redis::address;

    fn master() -> Server {
        address::tests::server("redis://h")
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

    /// Three sentinels, and the floor that records their answers.
    struct Group {
        floor: Floor,
        sentinels: Vec<Server>,
        now: Instant,
    }

    impl Group {
        fn new() -> Self {
            let at = |port| master().at(None, port).expect("a host");
            Self {
                floor: Floor::default(),
                sentinels: (1..=3).map(at).collect(),
                now: Instant::now(),
            }
        }

        /// Records that the sentinel `by` names the server at `port`. Returns the floor's port and a text for the log.
        fn hear(&mut self, by: usize, failover: u64, port: u16) -> (Option<u16>, Option<String>) {
            let (answer, of) = (master().at(None, port).unwrap(), self.sentinels.len());
            let by = &self.sentinels[by];
            let told = DatedAnswer { failover, answer };
            let log = self.floor.add(&told, by, of, self.now);
            let latest = self.floor.latest.clone();
            let port =
                |it: DatedAnswer<Server>| it.answer.to_string().rsplit(':').next()?.parse().ok();
            (latest.and_then(port), log)
        }
    }

    #[test]
    fn an_older_failover_never_counts_while_one_sentinel_is_silent() {
        let mut group = Group::new();
        assert_eq!(group.hear(0, 5, 7002), (Some(7002), None));
        for _ in 0..100 {
            group.now += PAUSE_BETWEEN_QUESTIONS;
            assert_eq!(group.hear(1, 4, 7001).0, Some(7002));
            assert_eq!(group.hear(2, 4, 7001).0, Some(7002));
        }
        // First the same failover with another name of the server, then the next failover.
        assert_eq!(group.hear(0, 5, 7003), (Some(7003), None));
        assert_eq!(group.hear(1, 6, 7001), (Some(7001), None));
    }

    #[test]
    fn epochs_that_begin_again_count_once_all_sentinels_agreed_long() {
        let mut group = Group::new();
        group.hear(0, 5, 7001);
        let rounds = (AGREED_AFTER.as_millis() / PAUSE_BETWEEN_QUESTIONS.as_millis()) as usize;
        // In the last round one sentinel still knows the failover, so the time starts again.
        for round in 0..=rounds {
            group.now += PAUSE_BETWEEN_QUESTIONS;
            let says = if round == rounds { 5 } else { 0 };
            assert_eq!(group.hear(1, 0, 7002).0, Some(7001));
            assert_eq!(group.hear(0, says, 7001), (Some(7001), None));
        }
        for _ in 0..rounds {
            group.now += PAUSE_BETWEEN_QUESTIONS;
            for by in 0..3 {
                assert_eq!(group.hear(by, 0, 7002), (Some(7001), None));
            }
        }
        group.now += PAUSE_BETWEEN_QUESTIONS;
        let (port, log) = group.hear(0, 0, 7002);
        let log = log.expect("one is forgetful");
        let begin = "h:1 has forgotten failover 5 to h:7001; it counts until";
        assert!(log.starts_with(begin), "{log}");
        assert_eq!(
            (port, group.hear(0, 0, 7002)),
            (Some(7001), (Some(7001), None))
        );
        assert!(group.hear(1, 0, 7002).1.is_some());
        let (port, log) = group.hear(2, 0, 7002);
        let log = log.expect("all are forgetful");
        let end = "all sentinels have, so their answers count";
        assert!(log.ends_with(end), "{log}");
        assert_eq!((port, group.hear(0, 0, 7002)), (None, (Some(7002), None)));
    }
}
