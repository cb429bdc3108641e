//! Connects to a server, and makes the handshake that precedes every vote.

use std::net::SocketAddr;
use std::time::Duration;

use ::redis::{AsyncConnectionConfig, ErrorKind, Pipeline, ProtocolVersion, RedisError};
use tokio::sync::mpsc::unbounded_channel;

use crate::io_thread::IoThread;
use crate::model::resource::Shown;
use crate::node::{NodeError, NodeErrorKind, Value, was_not_run};
use crate::redis::address::Server;
use crate::redis::errors::not_connected;

use super::command::{unconnected, value};
use super::handshake::{Greeting, handshake, read_greeting};
use super::open::{At, ConnectTo, Opened, at_each_address, open};
use super::replica_wait::ReplicaWait;
use super::watches::Watches;

/// The time limit for a server that is only asked questions. All its addresses share it.
const ASK_WITHIN: Duration = Duration::from_secs(1);

/// A connection after its login and handshake.
pub(in crate::redis) struct Connected {
    pub(in crate::redis) opened: Opened,
    pub(in crate::redis) greeting: Greeting,
    pub(in crate::redis) watches: Watches,
    /// The addresses of the server's name that led to a server, each with that server's `run_id`.
    pub(in crate::redis) addresses: Vec<(SocketAddr, Option<String>)>,
}

impl Connected {
    /// Returns what the server hides or lacks. Each part says what is left without it.
    pub(in crate::redis) fn hidden(&self, trusts_aof: bool) -> String {
        let mut hidden = self.greeting.facts.hidden(trusts_aof);
        if self.watches.are_impossible() {
            let separator = if hidden.is_empty() { "" } else { "; " };
            hidden.extend([
                separator,
                "RESP3: a waiting caller notices a release when it asks again",
            ]);
        }
        hidden
    }

    /// Writes on the new connection, and returns an error if too few replicas acknowledge. A replica is asked for
    /// nothing, because the driver refuses it for its role.
    pub(in crate::redis) async fn await_replicas(
        &mut self,
        replicas: &ReplicaWait,
        user: &str,
    ) -> Result<(), NodeError> {
        let facts = &self.greeting.facts;
        if facts.is_replica() {
            return Ok(());
        }
        let present = facts.get("connected_slaves").unwrap_or("an unknown number");
        let are_too_few = present.parse().is_ok_and(|it: u32| it < replicas.wanted);
        let fix = if are_too_few {
            ": add replicas, or lower `replicas`"
        } else {
            ""
        };
        let mut questions = Pipeline::new();
        for command in replicas.probe() {
            questions.add_command(command);
        }
        let answers = send_questions(&mut self.opened, &questions).await?;
        let judged = replicas.judge(&answers);
        judged.map_err(|error| match error.kind() {
            NodeErrorKind::TimedOut => {
                not_connected(format!("{error}; the server has {present} connected{fix}"))
            }
            NodeErrorKind::Denied => {
                let user = Shown(user.as_bytes());
                let detail =
                    format!("`replicas` needs WAIT: {error}; run there: ACL SETUSER {user} +wait");
                NodeError::unsent(NodeErrorKind::Denied, detail)
            }
            _ => not_connected(format!("`replicas` needs a write and WAIT: {error}")),
        })
    }
}

/// Asks `server` the `questions`, and returns its answers. Uses the connection in `kept`, or stores a new one there.
///
/// Dropping the future closes the connection, and so does an error.
pub(in crate::redis) async fn ask_server(
    server: &Server,
    questions: &Pipeline,
    kept: &mut Option<Opened>,
    io: &IoThread,
) -> Result<Vec<Value>, NodeError> {
    let (opened, answers) = if let Some(mut opened) = kept.take() {
        let answers = send_questions(&mut opened, questions).await?;
        (opened, answers)
    } else {
        let config = || AsyncConnectionConfig::clone(&server.config);
        let attempt = |at| open_and_ask(server, at, config(), questions, io);
        let to = ConnectTo::First;
        let (asked, _) = at_each_address(server, io, ASK_WITHIN, to, attempt, |_| true).await?;
        (asked.opened, asked.answers)
    };
    *kept = Some(opened);
    Ok(answers)
}

/// Connects to `server`, logs in, checks the version, and loads the scripts. Prefers a master among the addresses.
///
/// Dropping the future closes the sockets.
pub(in crate::redis) async fn connect(
    server: &Server,
    trusts_aof: bool,
    key_prefix: &[u8],
    within: Duration,
    to: ConnectTo,
    io: &IoThread,
) -> Result<Connected, NodeError> {
    let attempt = |at| connect_at(server, at, trusts_aof, key_prefix, io);
    let is_master = |it: &Connected| !it.greeting.facts.is_replica();
    let found = at_each_address(server, io, within, to, attempt, is_master).await?;
    let (mut connected, others) = found;
    let others = others.into_iter().flat_map(|it| it.addresses);
    connected.addresses.extend(others);
    Ok(connected)
}

async fn connect_at(
    server: &Server,
    at: At,
    trusts_aof: bool,
    key_prefix: &[u8],
    io: &IoThread,
) -> Result<Connected, NodeError> {
    let (sender, messages) = unbounded_channel();
    let config = AsyncConnectionConfig::clone(&server.config).set_push_sender(sender);
    let questions = handshake(trusts_aof, key_prefix);
    let asked = open_and_ask(server, at, config, &questions, io).await?;
    let greeting = read_greeting(asked.answers, trusts_aof, server.user())?;
    let id = greeting.facts.run_id().map(str::to_owned);
    Ok(Connected {
        opened: asked.opened,
        greeting,
        watches: Watches::new(asked.is_resp3.then_some(messages)),
        addresses: at.map(|at| (at, id)).into_iter().collect(),
    })
}

/// A connection, with the answers to the questions that were asked on it.
struct AnsweredConnection {
    opened: Opened,
    answers: Vec<Value>,
    is_resp3: bool,
}

/// Opens a connection with `config`, and asks `questions` on it. Uses RESP2 if the server does not know RESP3.
async fn open_and_ask(
    server: &Server,
    at: At,
    config: AsyncConnectionConfig,
    questions: &Pipeline,
    io: &IoThread,
) -> Result<AnsweredConnection, NodeError> {
    let info = if server.password_file.is_some() {
        let own = server.clone();
        // Read the file on a blocking thread, because its disk may hang.
        let info = io.handle().spawn_blocking(move || own.info()).await;
        info.map_err(|_| not_connected("its password file was not read"))?
    } else {
        server.info()
    };
    let info = info.map_err(|invalid| not_connected(invalid.to_string()))?;
    let mut opened = open(server, at, info.clone(), config, io).await;
    let is_resp3 = !opened.as_ref().is_err_and(knows_no_resp3);
    if !is_resp3 {
        let settings = info.redis_settings().clone();
        let info = info.set_redis_settings(settings.set_protocol(ProtocolVersion::RESP2));
        let config = AsyncConnectionConfig::clone(&server.config);
        opened = open(server, at, info, config, io).await;
    }
    let mut opened = opened.map_err(|error| unconnected(&error))?;
    let answers = send_questions(&mut opened, questions).await?;
    Ok(AnsweredConnection {
        opened,
        answers,
        is_resp3,
    })
}

/// Asks `questions` on a connection, and returns the answers.
async fn send_questions(to: &mut Opened, questions: &Pipeline) -> Result<Vec<Value>, NodeError> {
    let asked = to
        .connection
        .send_packed_commands(questions, 0, questions.len());
    let answers = asked.await.map_err(|error| unconnected(&error))?;
    Ok(answers.into_iter().map(value).collect())
}

/// True if the server lacks RESP3 or `HELLO`. A proxy may lack `HELLO`, and an operator may have renamed it.
fn knows_no_resp3(error: &RedisError) -> bool {
    let is_unknown = |text: &str| text.contains("unknown command") || text.contains("support");
    match error.code() {
        Some("ERR") => error.detail().is_some_and(is_unknown),
        // A proxy words its refusal in its own way, without a code.
        Some(code) => code == "NOPROTO" || !was_not_run(code.as_bytes()),
        None => error.kind() == ErrorKind::RESP3NotSupported,
    }
}
