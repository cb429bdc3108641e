//! The handshake: questions and scripts for a server before it may vote, and the server's greeting.

use std::sync::{Arc, LazyLock};

use ::redis::Pipeline;

use crate::kinds::exclusive::scripts::{MANY, RELEASE};
use crate::kinds::{COMMANDS, DENIED, SCRIPTS};
use crate::model::resource::Shown;
use crate::node::{Code, NodeError, NodeErrorKind, Script, Value};

use super::command::script_call;
use crate::redis::errors::{not_connected, rejected};
use crate::redis::vetting::{ServerFacts, is_hidden, vet_version};

/// Arguments that every script accepts in a call with zero keys.
const NOTHING: [&[u8]; 5] = [b"", b"10", b"0", b"0", b"10"];

/// The commands that every lock needs, in the syntax of Redis ACLs.
const NEEDED: &str = "+set +get +del +pexpire +pttl +evalsha +eval +time";

/// Tests which commands the user may run. Otherwise a missing permission would show late: without DEL, everything works
/// until a release leaves its key. The script fails if a command is denied that every lock needs, and names it. Its
/// answer names denied commands that only some kinds of locks need.
///
/// The tested key never exists. Its prefix is in ARGV, because a Cluster requires that a key in KEYS is in a slot of
/// the server.
static PERMISSIONS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{DENIED} \
         local key = ARGV[1] .. 'redlock:permissions' \
         local missing = denied({{ \
           {{'TIME'}}, {{'GET', key}}, {{'PTTL', key}}, {{'DEL', key}}, {{'PEXPIRE', key, '1'}}, \
           {{'SET', key, '', 'XX', 'PX', '1'}}, \
         }}) \
         if missing ~= '' then return {{err = 'NOPERM its ACL has to allow' .. missing}} end \
         return (denied({{{COMMANDS}}}))"
    )
});

/// The server's answer to the handshake: facts about the server and its user.
pub(in crate::redis) struct Greeting {
    pub(in crate::redis) facts: ServerFacts,
    /// The command for an operator to run, if the user lacks commands that some kinds of locks need.
    pub(in crate::redis) mend: Option<Arc<str>>,
    /// True if the user may run the script that makes several calls at once.
    pub(in crate::redis) joins: bool,
}

/// Returns the questions and scripts of the handshake. All of them are sent at once. With a round trip for each, the
/// handshake would exceed `connect_timeout` on a distant server, or while many processes connect to the server.
/// `trusts_aof` adds a question about the settings of the append-only file.
pub(super) fn handshake(trusts_aof: bool, key_prefix: &[u8]) -> Pipeline {
    let mut questions = Pipeline::new();
    questions.cmd("HELLO");
    ask_for_facts(&mut questions, trusts_aof);
    let key = [key_prefix, b"redlock:permissions"].concat();
    // A server that knows these options rejects the time, so nothing is written.
    let probe = questions.cmd("SET").arg(&*key).arg("");
    probe.arg(&["NX", "PX", "0", "GET"]);
    questions
        .cmd("EVAL")
        .arg(&*PERMISSIONS)
        .arg(0)
        .arg(key_prefix);
    add_scripts(&mut questions);
    let (keys, tokens) = ([&*key; 2].into_iter(), [&b""[..]; 2].into_iter());
    questions.add_command(script_call(&MANY, keys, tokens, true));
    questions
}

/// Adds questions about facts that may change during a connection. These facts are the role, the memory and, with
/// `trusts_aof`, the settings of the append-only file.
pub(super) fn ask_for_facts(questions: &mut Pipeline, trusts_aof: bool) {
    questions.cmd("INFO");
    if trusts_aof {
        let settings = ["append*", "no-appendfsync-on-rewrite"];
        questions.cmd("CONFIG").arg("GET").arg(&settings);
    }
}

/// Reads the answers to [`handshake`].
pub(super) fn read_greeting(
    answers: Vec<Value>,
    trusts_aof: bool,
    user: &str,
) -> Result<Greeting, NodeError> {
    let mut answers = answers.into_iter();
    let joins = matches!(answers.next_back(), Some(Value::List(_)));
    let mut next = || answers.next().unwrap_or(Value::Nil);
    let mut facts = ServerFacts::default();
    for answer in [next(), next()] {
        match answer {
            Value::Error(text) if !is_hidden(&text) => {
                return Err(rejected(NodeError::server(&text)));
            }
            known_or_hidden => facts.add(&known_or_hidden),
        }
    }
    if trusts_aof {
        // An ACL may hide `CONFIG`, and a managed service may rename it. The settings then stay unknown.
        facts.add(&next());
    }
    // `HELLO` calls the version `version`, and `INFO` calls it `redis_version`.
    let version = facts.get("version").or_else(|| facts.get("redis_version"));
    vet_version(version, &next())?;
    let mend = |rules: &str| format!("ACL SETUSER {} {rules}", Shown(user.as_bytes()));
    let refused = |error: NodeError| {
        let detail = format!("the server does not run the scripts that a release needs: {error}");
        match error.kind() {
            kind @ NodeErrorKind::Denied => {
                NodeError::unsent(kind, format!("{detail}; run there: {}", mend(NEEDED)))
            }
            _ => not_connected(detail),
        }
    };
    let missing = match served(next()).map_err(refused)? {
        Value::Text(text) => String::from_utf8_lossy(&text).into_owned(),
        _ => String::new(),
    };
    for answer in answers {
        served(answer).map_err(refused)?;
    }
    let missing = missing.trim_start();
    Ok(Greeting {
        facts,
        mend: (!missing.is_empty()).then(|| mend(missing).into()),
        joins,
    })
}

/// Loads every script into the server, by calls without keys, which have no effect. Otherwise the first release would
/// get `NOSCRIPT`. If that answer were lost, nothing would undo the `SET` before the release. The calls also show if
/// the ACL allows scripts and the commands in them.
pub(in crate::redis) fn add_scripts(questions: &mut Pipeline) {
    let call =
        |script, with_text| script_call(script, std::iter::empty(), NOTHING.into_iter(), with_text);
    let is_loaded = |script: &&Script| matches!(script.code, Code::Loaded(_));
    for script in SCRIPTS.into_iter().filter(is_loaded) {
        questions.add_command(call(script, true));
    }
    questions.add_command(call(&RELEASE, false));
}

/// Returns the answer, or the error that it contains.
fn served(answer: Value) -> Result<Value, NodeError> {
    match answer {
        Value::Error(text) => Err(NodeError::server(&text)),
        answer => Ok(answer),
    }
}
