//! Makes a connection that may vote.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _,
    ProtocolVersion, PushInfo, PushKind, RedisConnectionInfo, RedisError, RedisResult,
};

use crate::node::NodeError;
use crate::redis::address::{Endpoint, Server};
use crate::redis::inbox::Inbox;
use crate::redis::tls::provide_cryptography;

use super::command::{unconnected, value};
use super::questions::{Allowed, InfoLevel, Questions};
use super::wakeups::{Wakeups, changed};
use crate::redis::vetting::Facts;

/// The places in the queue of a connection. It never fills: a full queue would change the order of commands.
const PLACES: usize = 1 << 24;

/// A connection after login, with the server's facts.
pub(in crate::redis) struct Connected {
    pub(in crate::redis) connection: MultiplexedConnection,
    /// What the server's ACL allows.
    pub(in crate::redis) allowed: Allowed,
    /// What the server told of itself, if it was asked.
    pub(in crate::redis) facts: Facts,
    pub(in crate::redis) wakeups: Wakeups,
}

/// What the crate has to know to connect to `server`.
pub(in crate::redis) fn connection_info(server: &Server) -> Result<ConnectionInfo, NodeError> {
    let info = match &server.given {
        Some(given) => given.info.clone(),
        None => described(server).map_err(|error| unconnected(&error))?,
    };
    if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        provide_cryptography();
    }
    let settings = info.redis_settings().clone();
    let settings = settings.set_protocol(ProtocolVersion::RESP3);
    Ok(info.set_redis_settings(settings))
}

fn described(server: &Server) -> RedisResult<ConnectionInfo> {
    let address = match (&server.endpoint, &server.tls) {
        (Endpoint::Tcp(host, port), None) => ConnectionAddr::Tcp(host.clone(), *port),
        (Endpoint::Tcp(host, port), Some(tls)) => tls.address(host, *port)?,
        (Endpoint::Unix(path), _) => ConnectionAddr::Unix(path.clone()),
    };
    let login = &server.login;
    let mut settings = RedisConnectionInfo::default().set_db(login.db);
    if let Some(password) = &login.password {
        settings = settings.set_username(login.user()).set_password(password);
    }
    let info = address.into_connection_info()?;
    Ok(info.set_redis_settings(settings.set_skip_set_lib_name()))
}

/// The answers of `server` to `questions`, on a connection of their own.
///
/// Dropping the future closes the socket.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
pub(in crate::redis) async fn ask(
    server: &Server,
    questions: &::redis::Pipeline,
) -> Result<Vec<crate::node::Value>, NodeError> {
    let info = connection_info(server)?;
    let config = AsyncConnectionConfig::new().set_connection_timeout(None);
    let config = config.set_response_timeout(None);
    let asked = async {
        let mut connection = open(info, &config).await?;
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
    info: ConnectionInfo,
    config: AsyncConnectionConfig,
    inbox: &Arc<Inbox>,
    (info_level, key_prefix): (InfoLevel, &[u8]),
) -> Result<Connected, NodeError> {
    let user = info
        .redis_settings()
        .username()
        .unwrap_or("default")
        .to_owned();
    let (mut connection, is_closed) = dial(info, config, inbox).await?;
    let questions = Questions::new(info_level, key_prefix);
    let count = questions.pipeline.len();
    let answers = connection
        .send_packed_commands(&questions.pipeline, 0, count)
        .await;
    let answers = answers.map_err(|error| unconnected(&error))?;
    let (allowed, facts) = questions.read(answers.into_iter().map(value), &user)?;
    Ok(Connected {
        connection,
        allowed,
        facts,
        wakeups: Wakeups::new(is_closed),
    })
}

/// A connection, and if it has push messages, what says that it is closed. A proxy may know no RESP3.
async fn dial(
    info: ConnectionInfo,
    config: AsyncConnectionConfig,
    inbox: &Arc<Inbox>,
) -> Result<(MultiplexedConnection, Option<Arc<AtomicBool>>), NodeError> {
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let info = info.set_tcp_settings(tcp);
    let config = config
        .set_response_timeout(None)
        .set_connection_timeout(None)
        .set_pipeline_buffer_size(PLACES);
    if info.redis_settings().protocol() == ProtocolVersion::RESP3 {
        let (receiver, is_closed) = (Arc::downgrade(inbox), Arc::new(AtomicBool::new(false)));
        let closes = Arc::clone(&is_closed);
        let with_messages = config.clone().set_push_sender(move |message: PushInfo| {
            closes.fetch_or(message.kind == PushKind::Disconnection, Ordering::Release);
            if let Some(inbox) = receiver.upgrade() {
                inbox.changed(changed(&message));
            }
            Ok::<_, ()>(())
        });
        match open(info.clone(), &with_messages).await {
            Err(refusal) if knows_no_resp3(&refusal) => {}
            made => {
                let made = made.map(|made| (made, Some(is_closed)));
                return made.map_err(|error| unconnected(&error));
            }
        }
    }
    let settings = info.redis_settings().clone();
    let settings = settings.set_protocol(ProtocolVersion::RESP2);
    let made = open(info.set_redis_settings(settings), &config).await;
    made.map(|made| (made, None))
        .map_err(|error| unconnected(&error))
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
