//! Makes a connection that may vote.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _,
    Pipeline, ProtocolVersion, PushInfo, PushKind, RedisConnectionInfo, RedisError, RedisResult,
};

use crate::kinds::exclusive::{MANY, RELEASE};
use crate::kinds::scripts;
use crate::model::resource::Shown;
use crate::node::{Code, NodeError, Script, Value};
use crate::redis::address::{Endpoint, Server};
use crate::redis::connection::errors::{not_connected, rejected, rejected_as};
use crate::redis::connection::handshake::{Allowed, InfoLevel};
use crate::redis::connection::vetting::{Facts, vet_version};
use crate::redis::protocol::scripts::{NEEDED, PERMISSIONS};
use crate::redis::server::inbox::Inbox;
use crate::redis::tls::provide_cryptography;

use super::command::{script_call, unconnected, value, words};
use super::wakeups::{Wakeups, changed};

/// The places in the queue of a connection. It never fills: a full queue would change the order of commands.
const PLACES: usize = 1 << 24;

/// Arguments that each script can read as its own.
const NOTHING: [&[u8]; 5] = [b"", b"10", b"0", b"0", b"10"];

/// A connection after login, with the server's facts.
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    /// What the server's ACL allows.
    pub(super) allowed: Allowed,
    /// What the server told of itself, if it was asked.
    pub(super) facts: Facts,
    pub(super) wakeups: Wakeups,
}

/// What the crate has to know to connect to `server`.
pub(super) fn connection_info(server: &Server) -> Result<ConnectionInfo, NodeError> {
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
pub(in crate::redis) async fn ask(
    server: &Server,
    questions: &Pipeline,
) -> Result<Vec<Value>, NodeError> {
    let info = connection_info(server)?;
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_connection_timeout(None);
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
pub(super) async fn connect(
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

pub(super) async fn open(
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

/// What a server is asked and made to remember before it may vote. All goes at once: with a round trip for each, a far
/// server would take longer than `connect_timeout`, and so would one to which many processes connect at the same time.
struct Questions {
    pipeline: Pipeline,
    info_level: InfoLevel,
    loaded: usize,
}

impl Questions {
    fn new(info_level: InfoLevel, key_prefix: &[u8]) -> Self {
        let mut pipeline = Pipeline::new();
        pipeline.cmd("HELLO");
        if info_level != InfoLevel::None {
            pipeline.cmd("INFO");
        }
        if info_level == InfoLevel::Persistence {
            for pattern in ["append*", "no-appendfsync-on-rewrite"] {
                pipeline.cmd("CONFIG").arg("GET").arg(pattern);
            }
        }
        let key = [key_prefix, b"redlock:permissions"].concat();
        let trial = [b"EVAL", PERMISSIONS.as_bytes(), b"0", key_prefix];
        pipeline.add_command(words(trial.into_iter()));
        // Shows whether the user may make one call for many.
        let mut many = script_call(&MANY, [&*key].into_iter(), true);
        many.arg(0).arg("");
        pipeline.add_command(many);
        pipeline.cmd("GETRANGE").arg(&key).arg(0).arg(1);
        let before = pipeline.len();
        introduce(&mut pipeline);
        Self {
            loaded: pipeline.len() - before,
            pipeline,
            info_level,
        }
    }

    fn read(
        &self,
        mut answers: impl Iterator<Item = Value>,
        user: &str,
    ) -> Result<(Allowed, Facts), NodeError> {
        let mut next = || {
            let answer = answers.next();
            answer.ok_or_else(|| not_connected("the server left a question without an answer"))
        };
        let hello = served(next()?).map_err(|error| rejected(&error))?;
        let mut facts = Facts::default();
        for (name, value) in pairs(&hello) {
            match name {
                b"version" => vet_version(&Shown(value).to_string())?,
                b"role" => facts = Facts::of_role(value != b"master"),
                _ => {}
            }
        }
        if self.info_level != InfoLevel::None {
            match served(next()?) {
                Ok(Value::Text(info)) => facts.read_info(&String::from_utf8_lossy(&info)),
                Ok(_) => {}
                // Hidden by the ACL: unknown.
                Err(error) if error.starts_with("NOPERM") => {}
                Err(error) => return Err(rejected(&error)),
            }
        }
        if self.info_level == InfoLevel::Persistence {
            for _ in 0..2 {
                // Hidden by the ACL, or renamed by a managed service: unknown in both cases.
                for (name, value) in pairs(&next()?) {
                    facts.read_config(name, value);
                }
            }
        }
        let mend = |rules: &str| format!("ACL SETUSER {} {rules}", Shown(user.as_bytes()));
        let refused = |error: String| {
            let what = "the server does not run the scripts that a release needs";
            let mut detail = format!("{what}: {error}");
            if error.starts_with("NOPERM") {
                // Writing to a string does not fail.
                let _ = write!(detail, "; run there: {}", mend(NEEDED));
            }
            rejected_as(&error, &detail)
        };
        let missing = match served(next()?).map_err(refused)? {
            Value::Text(text) => String::from_utf8_lossy(&text).into_owned(),
            _ => String::new(),
        };
        let joins = served(next()?).is_ok_and(
            |answer| matches!(answer, Value::List(ref list) if list[..] == [Value::Int(-1)]),
        );
        let joins = served(next()?).is_ok() && joins;
        for _ in 0..self.loaded {
            served(next()?).map_err(refused)?;
        }
        let missing = missing.trim_start();
        Ok((
            Allowed {
                joins,
                mend: (!missing.is_empty()).then(|| mend(missing).into()),
            },
            facts,
        ))
    }
}

/// Makes the server remember every script, without a key and so without an effect. Otherwise the first
/// release would be answered with NOSCRIPT, and if that answer were lost, the SET before it would not
/// be undone. It also shows whether the server's ACL allows scripts and the commands in them.
pub(super) fn introduce(pipeline: &mut Pipeline) {
    let call = |script: &'static Script, with_text| {
        let mut call = script_call(script, std::iter::empty(), with_text);
        for argument in NOTHING {
            call.arg(argument);
        }
        call
    };
    for script in scripts().filter(|script| matches!(script.code(), Code::Loaded(_))) {
        pipeline.add_command(call(script, true));
    }
    pipeline.add_command(call(&RELEASE, false));
}

/// The text of a server's error.
fn served(answer: Value) -> Result<Value, String> {
    match answer {
        Value::Error(text) => Err(NodeError::server(&text).to_string()),
        answer => Ok(answer),
    }
}

/// The names and values of a flat list.
pub(super) fn pairs(value: &Value) -> impl Iterator<Item = (&[u8], &[u8])> {
    let words = match value {
        Value::List(words) => &words[..],
        _ => &[],
    };
    words.chunks(2).filter_map(|pair| match pair {
        [Value::Text(name), Value::Text(value)] => Some((&**name, &**value)),
        _ => None,
    })
}
