//! The master that sentinels name.
//!
//! All sentinels are asked at once, so a sentinel that hangs delays nothing. Among the answers of a majority the newest
//! counts, by the sentinels' *configuration epoch*, the number of the failover: so a sentinel that was cut off together
//! with an old master does not send anybody back to that master. The sentinels alone are not believed: the server that
//! they name has to say that it is a master.

use std::sync::Arc;

use ::redis::Pipeline;

use crate::env::io_thread::IoThread;
use crate::node::{NodeError, Value};
use crate::quorum::majority;
use crate::redis::address::{Sentinel, Server};
use crate::redis::errors::{lost, not_connected, rejected};
use crate::redis::inbox::Inbox;

use super::connection::actor::Moved;
use super::connection::connect;
use super::newest::{Dated, newest};
use super::vetting::{Facts, pairs};

/// The present master, and what completes when a newer failover has made another server the master: the sentinels are
/// asked with each heartbeat, as a master that was cut off or replaced may still answer this client, and again and again
/// while an answer of the master is overdue.
///
/// Dropping the future closes the connections to sentinels.
pub(super) async fn master(
    of: &Sentinel,
    inbox: &Arc<Inbox>,
    io: &IoThread,
) -> Result<(Server, Moved), NodeError> {
    let (of, inbox, io) = (of.clone(), Arc::clone(inbox), io.clone());
    let (failover, server) = ask(&of, &inbox, &io).await?;
    let master = server.clone();
    let moved = async move {
        loop {
            let overdue = inbox.overdue.notified();
            let _ = inbox.time.timeout(inbox.options.heartbeat, overdue).await;
            // Otherwise the connection stays, also if no sentinel answers.
            if let Ok((latest, other)) = ask(&of, &inbox, &io).await
                && other != server
                && latest > failover
            {
                return lost(format!("the sentinels name another master, {other}"));
            }
        }
    };
    Ok((master, Box::pin(moved)))
}

/// Asks all sentinels at once. A failover needs a majority of them, so every majority contains a sentinel that knows of
/// it.
async fn ask(of: &Sentinel, inbox: &Inbox, io: &IoThread) -> Result<Dated<Server>, NodeError> {
    let within = inbox.options.connect_timeout / 2;
    let is_enough = |named: &[_]| named.len() >= majority(of.sentinels.len());
    let ask = |sentinel| ask_one(sentinel, of, io);
    let newest = newest(&of.sentinels, ask, within, &inbox.time, is_enough).await;
    newest.map_err(|error| not_connected(format!("no sentinel names a master: {error}")))
}

async fn ask_one(
    sentinel: Server,
    of: &Sentinel,
    io: &IoThread,
) -> Result<Dated<Server>, NodeError> {
    // The epoch is asked first: if the master moves in between, the new address has the old epoch, and loses against a
    // sentinel that knows better. In the other order the old address would win.
    let mut questions = Pipeline::new();
    for what in ["MASTER", "GET-MASTER-ADDR-BY-NAME"] {
        questions.cmd("SENTINEL").arg(what).arg(&of.master);
    }
    let answers = connect::ask(&sentinel, &questions, io).await?;
    let (about, place) = match &answers[..] {
        [_, Value::Error(text)] => return Err(rejected(NodeError::server(text))),
        [about, place] => (Facts::of(about), place),
        _ => return Err(not_connected("its answer is not valid")),
    };
    let unknown = || not_connected(format!("it knows no address of `{}`", of.master));
    let server = server(place, &of.of_master).ok_or_else(unknown)?;
    // Zero if the sentinel's ACL hides it.
    let failover = about.get("config-epoch").and_then(|it| it.parse().ok());
    Ok((failover.unwrap_or(0), server))
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
