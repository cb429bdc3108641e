//! The restart check's question to a server, and how its answer is read.

use std::time::Duration;

use ::redis::{Cmd, cmd};

use crate::node::{NodeError, NodeErrorKind, Value};
use crate::redis::vetting::refused;

/// Sets the marker if it has the expected value and it is not too late. Returns the time and the
/// marker. `-` stands for a missing marker, `=` precedes the value of an existing one.
const CHECK: &str = "\
    local time = redis.call('TIME') \
    local marker = redis.pcall('GET', KEYS[1]) \
    if type(marker) == 'table' then marker = 'of another type' end \
    local found = marker and '=' .. marker or '-' \
    local now = time[1] * 1000 + math.floor(time[2] / 1000) \
    if ARGV[1] and found == ARGV[1] and now <= tonumber(ARGV[3]) then \
      marker = ARGV[2] \
      redis.call('SET', KEYS[1], marker) \
    end \
    return {time[1], time[2], marker}";

/// A marker that the next question is to set.
pub(super) struct Write {
    /// The marker that the server must have at that moment; `None` if it must have none.
    pub(super) expected: Option<Vec<u8>>,
    pub(super) new: Vec<u8>,
    /// The latest time by the server's clock.
    pub(super) not_after: Duration,
}

/// The question for the time and the marker, which is replaced if there is a `write`.
pub(super) fn with_marker(key: &[u8], write: Option<Write>) -> Cmd {
    let mut question = cmd("EVAL");
    question.arg(CHECK).arg(1).arg(key);
    if let Some(write) = write {
        let expected = match write.expected {
            Some(expected) => [b"=", &expected[..]].concat(),
            None => b"-".to_vec(),
        };
        let not_after = u64::try_from(write.not_after.as_millis()).unwrap_or(u64::MAX);
        question.arg(expected).arg(write.new).arg(not_after);
    }
    question
}

/// The server's time and its marker, from the answer of the pool `pool` to a question with or without the marker.
pub(super) fn read<'a>(
    answer: &'a Value,
    pool: &str,
    key: &[u8],
) -> Result<(Duration, Option<&'a [u8]>), NodeError> {
    if let Value::Error(text) = answer {
        let error = NodeError::server(text);
        if !text.starts_with(b"NOPERM") {
            return Err(error);
        }
        return Err(refused(format!(
            "`{pool}` refuses the restart check: {error}; allow EVAL, TIME, GET and SET on the \
             key `{}` in its ACL, or set `restart_check` to \"off\"",
            key.escape_ascii(),
        )));
    }
    fields(answer).ok_or_else(|| {
        let detail = "the server's answer is not a valid answer to the restart check";
        NodeError::sent(NodeErrorKind::Protocol, detail)
    })
}

fn fields(answer: &Value) -> Option<(Duration, Option<&[u8]>)> {
    let number = |value: &Value| match value {
        Value::Text(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        _ => None,
    };
    let Value::List(fields) = answer else {
        return None;
    };
    let [seconds, micros, rest @ ..] = &fields[..] else {
        return None;
    };
    let seconds = Duration::from_secs(number(seconds)?);
    let time = seconds.saturating_add(Duration::from_micros(number(micros)?));
    let marker = match rest {
        [Value::Text(marker)] => Some(&**marker),
        _ => None,
    };
    Some((time, marker))
}
