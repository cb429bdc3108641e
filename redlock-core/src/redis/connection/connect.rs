//! Makes a connection that may vote.

use std::io;
use std::panic::{AssertUnwindSafe, resume_unwind};

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, Pipeline, ProtocolVersion, RedisError,
    RedisResult,
};
use futures_util::FutureExt as _;
use tokio::sync::mpsc::unbounded_channel;

use crate::env::caught::text_of;
use crate::node::{NodeError, Value};
use crate::redis::address::Server;
use crate::redis::errors::not_connected;

use super::command::{unconnected, value};
use super::questions::{Greeting, questions, read};
use super::wakeups::Wakeups;

/// A connection after login, with what the server says.
pub(in crate::redis) struct Connected {
    pub(in crate::redis) connection: MultiplexedConnection,
    pub(in crate::redis) greeting: Greeting,
    pub(in crate::redis) wakeups: Wakeups,
}

/// The answers of `server` to `questions`, on a connection of their own.
///
/// Dropping the future closes the socket.
pub(in crate::redis) async fn ask(
    server: &Server,
    questions: &Pipeline,
) -> Result<Vec<Value>, NodeError> {
    let opened = open(info(server)?, &server.config, questions).await;
    Ok(opened.map_err(|error| unconnected(&error))?.1)
}

/// Connects, logs in, checks the server's version, and makes it remember the scripts.
///
/// Dropping the future closes the socket.
pub(in crate::redis) async fn connect(
    server: &Server,
    trusts_aof: bool,
    key_prefix: &[u8],
) -> Result<Connected, NodeError> {
    let (sender, messages) = unbounded_channel();
    let mut messages = Some(messages);
    let config = AsyncConnectionConfig::clone(&server.config).set_push_sender(sender);
    let (info, questions) = (info(server)?, questions(trusts_aof, key_prefix));
    let mut opened = open(info.clone(), &config, &questions).await;
    if opened.as_ref().is_err_and(knows_no_resp3) {
        let settings = info.redis_settings().clone();
        let info = info.set_redis_settings(settings.set_protocol(ProtocolVersion::RESP2));
        opened = open(info, &server.config, &questions).await;
        messages = None;
    }
    let (connection, answers) = opened.map_err(|error| unconnected(&error))?;
    Ok(Connected {
        connection,
        greeting: read(answers, trusts_aof, server.user())?,
        wakeups: Wakeups::new(messages),
    })
}

fn info(server: &Server) -> Result<ConnectionInfo, NodeError> {
    let info = server.info();
    info.map_err(|invalid| not_connected(invalid.to_string()))
}

async fn open(
    info: ConnectionInfo,
    config: &AsyncConnectionConfig,
    questions: &Pipeline,
) -> RedisResult<(MultiplexedConnection, Vec<Value>)> {
    let address = info.addr().to_string();
    let client = Client::open(info)?;
    let connecting = client.get_multiplexed_async_connection_with_config(config);
    let connecting = AssertUnwindSafe(connecting).catch_unwind().await;
    let mut connection = connecting.unwrap_or_else(|panic| match text_of(&*panic) {
        // The crate takes for granted that a name has an address.
        Some(text) if text.contains("select_ok") => {
            let detail = format!("the client's resolver gave no address for {address}");
            Err(io::Error::other(detail).into())
        }
        // On a runtime without sockets, too: the driver goes to another one.
        _ => resume_unwind(panic),
    })?;
    let asked = connection.send_packed_commands(questions, 0, questions.len());
    let answers = asked.await?.into_iter().map(value).collect();
    Ok((connection, answers))
}

/// A proxy may know no RESP3.
fn knows_no_resp3(error: &RedisError) -> bool {
    error.code() == Some("NOPROTO") || error.kind() == ::redis::ErrorKind::RESP3NotSupported
}
