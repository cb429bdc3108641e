//! What a server is asked and made to remember before it may vote.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use ::redis::Pipeline;

use crate::kinds::exclusive::scripts::{RELEASE, RELEASE_EACH};
use crate::kinds::{COMMANDS, DENIED, SCRIPTS};
use crate::model::resource::Shown;
use crate::node::{Code, NodeError, Script, Value};

use super::command::{script_call, words};
use crate::redis::errors::{not_connected, rejected, rejected_as};
use crate::redis::vetting::{Facts, vet_version};

/// Arguments that each script can read as its own.
const NOTHING: [&[u8]; 5] = [b"", b"10", b"0", b"0", b"10"];

/// The commands that every lock needs, as an operator allows them.
const NEEDED: &str = "+set +get +del +pexpire +pttl +evalsha +eval +time";

/// Tests what the user may run, on a key that never exists, under the prefix in ARGV (a key in KEYS would have to be
/// in a slot of the Cluster node). Without this test only a lock would show it: without DEL, all works until a
/// release leaves the key. An error names what every lock needs; the answer is what only some kinds of locks need.
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

/// What the server's ACL allows the user beyond the commands that every lock needs.
#[derive(Default)]
pub(in crate::redis) struct Allowed {
    /// True if it allows the script that makes one call of several releases.
    pub(in crate::redis) joins: bool,
    /// The command that an operator has to run for the kinds of locks that need more commands, if the user lacks one
    /// of these.
    pub(in crate::redis) mend: Option<Arc<str>>,
}

/// What a server is asked and made to remember before it may vote. All goes at once: with a round trip for each, a far
/// server would take longer than `connect_timeout`, and so would a server to which many processes connect at once.
pub(super) struct Questions {
    pub(super) pipeline: Pipeline,
    trusts_aof: bool,
    loaded: usize,
}

impl Questions {
    /// With the settings of the server's append-only file if the node trusts it.
    pub(super) fn new(trusts_aof: bool, key_prefix: &[u8]) -> Self {
        let mut pipeline = Pipeline::new();
        pipeline.cmd("HELLO");
        pipeline.cmd("INFO");
        if trusts_aof {
            let settings = ["append*", "no-appendfsync-on-rewrite"];
            pipeline.cmd("CONFIG").arg("GET").arg(&settings);
        }
        let key = [key_prefix, b"redlock:permissions"].concat();
        let trial = [b"EVAL", PERMISSIONS.as_bytes(), b"0", key_prefix];
        pipeline.add_command(words(&[], trial.into_iter()));
        // Shows whether the user may release several locks by one call.
        let each = script_call(
            &RELEASE_EACH,
            [&*key].into_iter(),
            [&b""[..]].into_iter(),
            true,
        );
        pipeline.add_command(each);
        let before = pipeline.len();
        introduce(&mut pipeline);
        Self {
            loaded: pipeline.len() - before,
            pipeline,
            trusts_aof,
        }
    }

    pub(super) fn read(
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
                b"role" => facts.add(name, value),
                _ => {}
            }
        }
        match served(next()?) {
            Ok(Value::Text(info)) => facts = Facts::of_info(&info),
            Ok(_) => {}
            // Hidden by the ACL: unknown.
            Err(error) if error.starts_with("NOPERM") => {}
            Err(error) => return Err(rejected(&error)),
        }
        if self.trusts_aof {
            // Hidden by the ACL, or renamed by a managed service: unknown in both cases.
            for (name, value) in pairs(&next()?) {
                facts.add(name, value);
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
pub(in crate::redis) fn introduce(pipeline: &mut Pipeline) {
    let call = |script: &'static Script, with_text| {
        script_call(script, std::iter::empty(), NOTHING.into_iter(), with_text)
    };
    for script in SCRIPTS
        .into_iter()
        .filter(|script| matches!(script.code, Code::Loaded(_)))
    {
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
pub(in crate::redis) fn pairs(value: &Value) -> impl Iterator<Item = (&[u8], &[u8])> {
    let words = match value {
        Value::List(words) => &words[..],
        _ => &[],
    };
    words.chunks(2).filter_map(|pair| match pair {
        [Value::Text(name), Value::Text(value)] => Some((&**name, &**value)),
        _ => None,
    })
}
