//! Makes a connection that may vote.

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ProtocolVersion, PushInfo, RedisError,
    RedisResult,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::node::NodeError;
use crate::redis::address::Server;

use super::command::{unconnected, value};
use super::questions::{Allowed, InfoLevel, Questions};
use super::wakeups::Wakeups;
use crate::redis::vetting::Facts;

/// A connection after login, with the server's facts.
pub(in crate::redis) struct Connected {
    pub(in crate::redis) connection: MultiplexedConnection,
    /// What the server's ACL allows.
    pub(in crate::redis) allowed: Allowed,
    /// The facts that the server reported about itself, if it was asked.
    pub(in crate::redis) facts: Facts,
    pub(in crate::redis) wakeups: Wakeups,
}

/// The answers of `server` to `questions`, on a connection of their own.
///
/// Dropping the future closes the socket.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
pub(in crate::redis) async fn ask(
    server: &Server,
    questions: &::redis::Pipeline,
) -> Result<Vec<crate::node::Value>, NodeError> {
    let asked = async {
        let mut connection = open(server.info()?, &server.config).await?;
        let count = questions.len();
        connection.send_packed_commands(questions, 0, count).await
    };
    let answers = asked.await.map_err(|error| unconnected(&error))?;
    Ok(answers.into_iter().map(value).collect())
}

/// Connects, logs in, checks the server's version, and makes it remember the scripts.
///
/// Dropping the future closes the socket.
pub(in crate::redis) async fn connect(
    server: &Server,
    (info_level, key_prefix): (InfoLevel, &[u8]),
) -> Result<Connected, NodeError> {
    let dialled = dial(server).await;
    let (mut connection, messages) = dialled.map_err(|error| unconnected(&error))?;
    let questions = Questions::new(info_level, key_prefix);
    let count = questions.pipeline.len();
    let answers = connection
        .send_packed_commands(&questions.pipeline, 0, count)
        .await;
    let answers = answers.map_err(|error| unconnected(&error))?;
    let (allowed, facts) = questions.read(answers.into_iter().map(value), server.user())?;
    Ok(Connected {
        connection,
        allowed,
        facts,
        wakeups: Wakeups::new(messages),
    })
}

/// A connection, and its push messages if it has any. A proxy may know no RESP3.
async fn dial(
    server: &Server,
) -> RedisResult<(MultiplexedConnection, Option<UnboundedReceiver<PushInfo>>)> {
    let (sender, messages) = unbounded_channel();
    let with_messages = AsyncConnectionConfig::clone(&server.config).set_push_sender(sender);
    let info = server.info()?;
    match open(info.clone(), &with_messages).await {
        Err(refusal) if knows_no_resp3(&refusal) => {
            let settings = info.redis_settings().clone();
            let settings = settings.set_protocol(ProtocolVersion::RESP2);
            let made = open(info.set_redis_settings(settings), &server.config).await?;
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
