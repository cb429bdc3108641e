//! Releases of several locks in one call.

use crate::node::operation::{Operation, Want};
use crate::node::{Answer, Holding};

use super::super::scripts::RELEASE_EACH;
use super::super::wire::{Digits, Value, pack};
use super::{Encoding, is_refusal};

/// The most locks in one call. A server serves nothing else meanwhile.
pub(in crate::redis) const MOST_IN_BATCH: usize = 64;

/// True if the error refuses the call because it is such a call, so later ones would be refused too: the ACL has
/// changed, or a proxy has another server behind it, or the keys on several servers. Any other error would also refuse
/// an operation that is sent by itself, and says nothing of later calls.
pub(in crate::redis) fn is_call_refused(value: &Value<'_>) -> bool {
    let Value::Error(text) = value else {
        return false;
    };
    let says = |words: &[u8]| text.windows(words.len()).any(|part| part == words);
    !is_refusal(text)
        || text.starts_with(b"CROSSSLOT")
        || text.starts_with(b"NOPERM") && says(b"permissions to run the")
}

/// True if `operation` is a release that may go in one call with others.
pub(in crate::redis) fn may_be_batched(operation: &Operation, encoding: &Encoding) -> bool {
    encoding.release_each
        && matches!(operation.want(), Want::Release { .. })
        && operation.keys().names().len() == 1
        && operation.sharing().is_none()
}

/// The call that releases the locks of all `releases`.
pub(in crate::redis) fn release_each<'a>(
    releases: impl ExactSizeIterator<Item = &'a Operation> + Clone,
    with_text: bool,
) -> Vec<u8> {
    let script = &*RELEASE_EACH;
    let count = Digits::of(releases.len() as u64);
    let head: [&[u8]; 3] = if with_text {
        [b"EVAL", script.text.as_bytes(), count.as_bytes()]
    } else {
        [b"EVALSHA", script.sha.as_bytes(), count.as_bytes()]
    };
    let keys = releases.clone().flat_map(|it| it.keys().names());
    let tokens = releases.map(|it| it.token().as_bytes());
    pack(head.into_iter().chain(keys).chain(tokens))
}

/// The answer to the release at `place` in the call, from a node in `epoch`. `None` if `value` says nothing of the lock:
/// it is to be released by itself.
pub(in crate::redis) fn answer_of_each(
    value: &Value<'_>,
    place: usize,
    epoch: u32,
) -> Option<Answer> {
    let letter = match value {
        Value::Int(1) => b'1',
        Value::Bulk(letters) => *letters.get(place)?,
        _ => return None,
    };
    match letter {
        b'1' => Some(Answer::Granted {
            counter: None,
            epoch,
            permits: None,
        }),
        b'0' => Some(Answer::Held(Holding::default())),
        b'-' => Some(Answer::Absent),
        _ => None,
    }
}
