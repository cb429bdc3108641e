//! Makes a connection that may vote.

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Client, Pipeline, RedisError};
use tokio::sync::mpsc::unbounded_channel;

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
    let (_, answers) = open(server, &server.config, questions).await?;
    Ok(answers)
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
    let config = AsyncConnectionConfig::clone(&server.config).set_push_sender(sender);
    let (connection, answers) = open(server, &config, &questions(trusts_aof, key_prefix)).await?;
    Ok(Connected {
        connection,
        greeting: read(answers, trusts_aof, server.user())?,
        wakeups: Wakeups::new(messages),
    })
}

async fn open(
    server: &Server,
    config: &AsyncConnectionConfig,
    questions: &Pipeline,
) -> Result<(MultiplexedConnection, Vec<Value>), NodeError> {
    let info = server.info();
    let info = info.map_err(|invalid| not_connected(invalid.to_string()))?;
    let opened = async {
        let client = Client::open(info)?;
        let connecting = client.get_multiplexed_async_connection_with_config(config);
        let mut connection = connecting.await?;
        let asked = connection.send_packed_commands(questions, 0, questions.len());
        let answers = asked.await?.into_iter().map(value).collect();
        Ok((connection, answers))
    };
    opened
        .await
        .map_err(|error: RedisError| unconnected(&error))
}
