//! Makes a connection that may vote.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::model::resource::Shown;
use crate::node::NodeError;
use crate::redis::address::{Login, Server};
use crate::redis::protocol::scripts::{NEEDED, introductions, joined_trial, permissions_trial};
use crate::redis::protocol::wire::{Value, decode, pack};

use super::errors::{CLOSED, GARBLED, broken, not_connected, rejected, rejected_as};
use super::movable::Movable;
use super::socket::{Socket, Stream};
use super::vetting::{Facts, too_old, vet_version};

/// A connection after login, with the server's facts.
pub(in crate::redis) struct Connected {
    pub(in crate::redis) stream: Box<dyn Stream>,
    /// The socket below, if another runtime can watch it.
    pub(in crate::redis) socket: Option<Movable>,
    /// What the server's ACL allows.
    pub(in crate::redis) allowed: Allowed,
    /// What the server told of itself, if it was asked.
    pub(in crate::redis) facts: Facts,
}

/// What the server's ACL allows the user beyond the commands that every lock needs.
#[derive(Default)]
pub(in crate::redis) struct Allowed {
    /// True if it allows the script that makes one call of several.
    pub(in crate::redis) joins: bool,
    /// The command that an operator has to run for the kinds of locks that need more commands, if the user lacks one
    /// of these.
    pub(in crate::redis) mend: Option<Arc<str>>,
}

/// The questions to a server about itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum InfoLevel {
    None,
    /// `INFO`.
    Info,
    /// `INFO`, and the settings of its append-only file.
    Persistence,
}

/// Connects, logs in and checks the server's version.
///
/// Dropping the future closes the socket.
pub(in crate::redis) async fn connect(
    server: &Server,
    info_level: InfoLevel,
    key_prefix: &[u8],
) -> Result<Connected, NodeError> {
    let mut socket = Socket::open(server).await?;
    let stream = socket.stream();
    let (allowed, facts) = handshake(stream, &server.login, info_level, key_prefix).await?;
    let (stream, socket) = socket.lendable();
    Ok(Connected {
        stream,
        socket,
        allowed,
        facts,
    })
}

/// A socket to the server, before the first command.
///
/// Dropping it closes the socket.
pub(in crate::redis) async fn dial(server: &Server) -> Result<Box<dyn Stream>, NodeError> {
    Ok(Socket::open(server).await?.into_stream())
}

/// The steps before the node may vote: credentials, database, version, and the questions of `info_level`.
async fn handshake(
    stream: &mut dyn Stream,
    login: &Login,
    info_level: InfoLevel,
    key_prefix: &[u8],
) -> Result<(Allowed, Facts), NodeError> {
    let mut buffer = BytesMut::new();
    let hello = greet(stream, &mut buffer, login).await?;
    vet_version(&hello.version)?;
    if login.db != 0 {
        let db = login.db.to_string();
        let select = [b"SELECT".as_slice(), db.as_bytes()];
        exchange(stream, &mut buffer, &pack(select.into_iter()), |_| ())
            .await?
            .map_err(|error| rejected(&error))?;
    }
    let facts = inquire(
        stream,
        &mut buffer,
        info_level,
        Facts::of_role(hello.is_replica),
    )
    .await?;
    let allowed = introduce(stream, &mut buffer, login, key_prefix).await?;
    Ok((allowed, facts))
}

/// Logs in, and reads what a server tells of itself in its greeting.
pub(in crate::redis) async fn greet(
    stream: &mut dyn Stream,
    buffer: &mut BytesMut,
    login: &Login,
) -> Result<Hello, NodeError> {
    let password = login.password.as_deref();
    let mut hello: Vec<&[u8]> = vec![b"HELLO", b"2"];
    if let Some(password) = password {
        hello.extend([
            b"AUTH".as_slice(),
            login.user().as_bytes(),
            password.as_bytes(),
        ]);
    }
    match exchange(stream, buffer, &pack(hello.into_iter()), Hello::read).await? {
        Ok(hello) => Ok(hello),
        Err(error) if error.starts_with("ERR unknown command") => Err(too_old("before 6.0")),
        Err(error) => Err(rejected(&error)),
    }
}

/// Makes the server remember the scripts, and sees what the user may run.
async fn introduce(
    stream: &mut dyn Stream,
    buffer: &mut BytesMut,
    login: &Login,
    key_prefix: &[u8],
) -> Result<Allowed, NodeError> {
    let scripts: Vec<_> = introductions().collect();
    let trials = [joined_trial(key_prefix), permissions_trial(key_prefix)];
    // All at once: with a round trip for each, a far server would take longer than `connect_timeout`, and so would
    // one to which many processes connect at the same time.
    ask(
        stream,
        buffer,
        &[trials.concat(), scripts.concat()].concat(),
    )
    .await?;
    let mend = |rules: &str| format!("ACL SETUSER {} {rules}", Shown(login.user().as_bytes()));
    let refused = |error: String| {
        let what = "the server does not run the scripts that a release needs";
        let mut detail = format!("{what}: {error}");
        if error.starts_with("NOPERM") {
            // Writing to a string does not fail.
            let _ = write!(detail, "; run there: {}", mend(NEEDED));
        }
        rejected_as(&error, &detail)
    };
    let joins = answer(stream, buffer, |_| ()).await?.is_ok();
    let missing = answer(stream, buffer, text).await?.map_err(refused)?;
    for _ in &scripts {
        answer(stream, buffer, |_| ()).await?.map_err(refused)?;
    }
    let missing = missing.trim_start();
    Ok(Allowed {
        joins,
        mend: (!missing.is_empty()).then(|| mend(missing).into()),
    })
}

/// The text of a reply.
fn text(value: &Value<'_>) -> String {
    match value {
        Value::Bulk(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}

/// Asks the server about itself, all at once. Facts that its ACL hides stay unknown.
async fn inquire(
    stream: &mut dyn Stream,
    buffer: &mut BytesMut,
    info_level: InfoLevel,
    mut facts: Facts,
) -> Result<Facts, NodeError> {
    if info_level == InfoLevel::None {
        return Ok(facts);
    }
    let patterns: &[&[u8]] = match info_level {
        InfoLevel::Persistence => &[b"append*", b"no-appendfsync-on-rewrite"],
        _ => &[],
    };
    let mut questions = pack([b"INFO".as_slice()].into_iter());
    for pattern in patterns {
        questions.extend(pack([b"CONFIG".as_slice(), b"GET", pattern].into_iter()));
    }
    ask(stream, buffer, &questions).await?;
    match answer(stream, buffer, text).await? {
        Ok(info) => facts.read_info(&info),
        Err(error) if error.starts_with("NOPERM") => {}
        Err(error) => return Err(rejected(&error)),
    }
    for _ in patterns {
        // Hidden by the ACL, or renamed by a managed service: unknown in both cases.
        if let Ok(settings) = answer(stream, buffer, pairs).await? {
            for (name, value) in &settings {
                facts.read_config(name, value);
            }
        }
    }
    Ok(facts)
}

/// The names and values of a flat list.
pub(in crate::redis) fn pairs(value: &Value<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let Value::Array(words) = value else {
        return Vec::new();
    };
    let pair = |pair: &[Value<'_>]| match pair {
        [Value::Bulk(name), Value::Bulk(value)] => Some((name.to_vec(), value.to_vec())),
        _ => None,
    };
    words.chunks(2).filter_map(pair).collect()
}

/// The reply to HELLO: a flat list of names and values.
pub(in crate::redis) struct Hello {
    version: String,
    is_replica: bool,
}

impl Hello {
    fn read(value: &Value<'_>) -> Self {
        let mut hello = Self {
            version: "unknown".to_owned(),
            is_replica: false,
        };
        for (name, value) in pairs(value) {
            match &name[..] {
                b"version" => hello.version = Shown(&value).to_string(),
                b"role" => hello.is_replica = value != b"master",
                _ => {}
            }
        }
        hello
    }
}

/// Sends one command and reads its reply. Returns the result of `read`, or the server's error text.
pub(in crate::redis) async fn exchange<T>(
    stream: &mut dyn Stream,
    buffer: &mut BytesMut,
    command: &[u8],
    read: impl Fn(&Value<'_>) -> T,
) -> Result<Result<T, String>, NodeError> {
    ask(stream, buffer, command).await?;
    answer(stream, buffer, read).await
}

/// Sends one command or several, whose answers are read after this.
async fn ask(
    stream: &mut dyn Stream,
    buffer: &mut BytesMut,
    commands: &[u8],
) -> Result<(), NodeError> {
    let Err(error) = send(stream, commands).await else {
        return Ok(());
    };
    // The reason for a closed connection may be readable: TLS servers send it first.
    Err(match stream.read_buf(buffer).await {
        Err(reason) if reason.raw_os_error().is_none() => broken(&reason),
        _ => broken(&error),
    })
}

/// Reads the reply to one command.
async fn answer<T>(
    stream: &mut dyn Stream,
    buffer: &mut BytesMut,
    read: impl Fn(&Value<'_>) -> T,
) -> Result<Result<T, String>, NodeError> {
    loop {
        if let Some((value, length)) = decode(buffer).map_err(|_| not_connected(GARBLED))? {
            let result = match &value {
                Value::Error(text) => Err(NodeError::server(text).to_string()),
                value => Ok(read(value)),
            };
            buffer.advance(length);
            return Ok(result);
        }
        if stream
            .read_buf(buffer)
            .await
            .map_err(|error| broken(&error))?
            == 0
        {
            return Err(not_connected(CLOSED));
        }
    }
}

pub(in crate::redis) async fn send(stream: &mut dyn Stream, command: &[u8]) -> io::Result<()> {
    stream.write_all(command).await?;
    stream.flush().await
}
