//! The restart check's question to a server, and how its answer is read.

use std::time::Duration;

use crate::model::digits::Digits;
use crate::node::Value;
use crate::node::{NodeError, NodeErrorKind};
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

/// The words of a command.
pub(in crate::redis) type Question = Vec<Vec<u8>>;

/// The question for the time alone. It needs no permission for the marker's key.
pub(super) fn without_marker() -> Question {
    vec![b"TIME".to_vec()]
}

/// The question for the time and the marker, which is replaced if there is a `write`.
pub(super) fn with_marker(key: &[u8], write: Option<&Write>) -> Question {
    let head: [&[u8]; 4] = [b"EVAL", CHECK.as_bytes(), b"1", key];
    let mut question: Question = head.map(<[u8]>::to_vec).into();
    let Some(write) = write else {
        return question;
    };
    let expected = match &write.expected {
        Some(expected) => [b"=".as_slice(), expected].concat(),
        None => b"-".to_vec(),
    };
    let not_after = u64::try_from(write.not_after.as_millis()).unwrap_or(u64::MAX);
    let not_after = Digits::of(not_after);
    let tail: [&[u8]; 3] = [&expected, &write.new, not_after.as_bytes()];
    question.extend(tail.map(<[u8]>::to_vec));
    question
}

/// The server's time and its marker, from the answer of the pool `pool` to either question.
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
