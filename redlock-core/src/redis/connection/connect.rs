//! Makes a connection that may vote.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ProtocolVersion, PushInfo, PushKind, RedisError,
    RedisResult,
};

use crate::node::NodeError;
use crate::redis::address::Server;
use crate::redis::inbox::Inbox;

use super::command::{unconnected, value};
use super::questions::{Allowed, InfoLevel, Questions};
use super::wakeups::{Wakeups, changed};
use crate::redis::vetting::Facts;

/// A connection after login, with the server's facts.
pub(in crate::redis) struct Connected {
    pub(in crate::redis) connection: MultiplexedConnection,
    /// What the server's ACL allows.
    pub(in crate::redis) allowed: Allowed,
    /// What the server told of itself, if it was asked.
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
    inbox: &Arc<Inbox>,
    (info_level, key_prefix): (InfoLevel, &[u8]),
) -> Result<Connected, NodeError> {
    let dialled = dial(server, inbox).await;
    let (mut connection, is_closed) = dialled.map_err(|error| unconnected(&error))?;
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
        wakeups: Wakeups::new(is_closed),
    })
}

/// A connection, and if it has push messages, what says that it is closed. A proxy may know no RESP3.
async fn dial(
    server: &Server,
    inbox: &Arc<Inbox>,
) -> RedisResult<(MultiplexedConnection, Option<Arc<AtomicBool>>)> {
    let (receiver, is_closed) = (Arc::downgrade(inbox), Arc::new(AtomicBool::new(false)));
    let closes = Arc::clone(&is_closed);
    let with_messages =
        AsyncConnectionConfig::clone(&server.config).set_push_sender(move |message: PushInfo| {
            closes.fetch_or(message.kind == PushKind::Disconnection, Ordering::Release);
            if let Some(inbox) = receiver.upgrade() {
                inbox.changed(changed(&message));
            }
            Ok::<_, ()>(())
        });
    let info = server.info()?;
    match open(info.clone(), &with_messages).await {
        Err(refusal) if knows_no_resp3(&refusal) => {
            let settings = info.redis_settings().clone();
            let settings = settings.set_protocol(ProtocolVersion::RESP2);
            let made = open(info.set_redis_settings(settings), &server.config).await?;
            Ok((made, None))
        }
        made => Ok((made?, Some(is_closed))),
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
