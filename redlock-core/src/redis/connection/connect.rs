//! Makes a connection that may vote.

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, Pipeline, ProtocolVersion, PushInfo, RedisError,
    RedisResult,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::node::{NodeError, Value};
use crate::redis::address::Server;
use crate::redis::errors::not_connected;

use super::command::{unconnected, value};
use super::questions::{Allowed, Questions};
use super::wakeups::Wakeups;
use crate::redis::vetting::Facts;

/// A connection after login, with the server's facts.
pub(in crate::redis) struct Connected {
    pub(in crate::redis) connection: MultiplexedConnection,
    /// What the server's ACL allows.
    pub(in crate::redis) allowed: Allowed,
    /// The facts that the server reported about itself.
    pub(in crate::redis) facts: Facts,
    pub(in crate::redis) wakeups: Wakeups,
}

/// The answers of `server` to `questions`, on a connection of their own.
///
/// Dropping the future closes the socket.
pub(in crate::redis) async fn ask(
    server: &Server,
    questions: &Pipeline,
) -> Result<Vec<Value>, NodeError> {
    let opened = open(present(server)?, &server.config).await;
    let mut connection = opened.map_err(|error| unconnected(&error))?;
    answers(&mut connection, questions).await
}

/// Connects, logs in, checks the server's version, and makes it remember the scripts.
///
/// Dropping the future closes the socket.
pub(in crate::redis) async fn connect(
    server: &Server,
    (trusts_aof, key_prefix): (bool, &[u8]),
) -> Result<Connected, NodeError> {
    let dialled = dial(present(server)?, &server.config).await;
    let (mut connection, messages) = dialled.map_err(|error| unconnected(&error))?;
    let questions = Questions::new(trusts_aof, key_prefix);
    let answers = answers(&mut connection, &questions.pipeline).await?;
    let (allowed, facts) = questions.read(answers.into_iter(), server.user())?;
    Ok(Connected {
        connection,
        allowed,
        facts,
        wakeups: Wakeups::new(messages),
    })
}

/// The login to `server` by the files as they are now.
fn present(server: &Server) -> Result<ConnectionInfo, NodeError> {
    let info = server.info();
    info.map_err(|invalid| not_connected(invalid.to_string()))
}

async fn answers(
    connection: &mut MultiplexedConnection,
    questions: &Pipeline,
) -> Result<Vec<Value>, NodeError> {
    let asked = connection.send_packed_commands(questions, 0, questions.len());
    let answers = asked.await.map_err(|error| unconnected(&error))?;
    Ok(answers.into_iter().map(value).collect())
}

/// A connection, and its push messages if it has any. A proxy may know no RESP3.
async fn dial(
    info: ConnectionInfo,
    config: &AsyncConnectionConfig,
) -> RedisResult<(MultiplexedConnection, Option<UnboundedReceiver<PushInfo>>)> {
    let (sender, messages) = unbounded_channel();
    let with_messages = config.clone().set_push_sender(sender);
    match open(info.clone(), &with_messages).await {
        Err(refusal) if knows_no_resp3(&refusal) => {
            let settings = info.redis_settings().clone();
            let settings = settings.set_protocol(ProtocolVersion::RESP2);
            let made = open(info.set_redis_settings(settings), config).await?;
            Ok((made, None))
        }
        made => Ok((made?, Some(messages))),
    }
}

async fn open(
    info: ConnectionInfo,
    config: &AsyncConnectionConfig,
) -> RedisResult<MultiplexedConnection> {
    let client = Client::open(info)?;
    client
        .get_multiplexed_async_connection_with_config(config)
        .await
}

fn knows_no_resp3(error: &RedisError) -> bool {
    error.code() == Some("NOPROTO") || error.kind() == ::redis::ErrorKind::RESP3NotSupported
}
