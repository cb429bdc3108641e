//! Several calls made by one.

use bytes::BytesMut;

use crate::node::{Call, Script, Value, is_refusal};

use super::super::wire;
use super::script_call;

/// The most calls in one. A server serves nothing else meanwhile.
pub(in crate::redis) const MOST_JOINED: usize = 64;

/// True if the error refuses the call because it is such a call, so later ones would be refused too: the ACL has
/// changed, or a proxy has another server behind it, or the keys on several servers. Any other error would also refuse
/// a call that is made by itself, and says nothing of later ones.
pub(in crate::redis) fn is_call_refused(value: &wire::Value<'_>) -> bool {
    let wire::Value::Error(text) = value else {
        return false;
    };
    let says = |words: &[u8]| text.windows(words.len()).any(|part| part == words);
    !is_refusal(text)
        || text.starts_with(b"CROSSSLOT")
        || text.starts_with(b"NOPERM") && says(b"permissions to run the")
}

/// Appends the one call of `script` that makes all of `calls`.
pub(in crate::redis) fn encode_joined<'a>(
    script: &'a Script,
    calls: impl Iterator<Item = &'a Call> + Clone,
    with_text: bool,
    output: &mut BytesMut,
) {
    let keys = calls.clone().map(Call::first_key);
    let tokens = calls.filter_map(|call| Some(call.arguments().first()?.as_bytes()));
    script_call(script, keys, tokens, with_text, output);
}

/// The reply to the call at `place` of those that one call made. `None` if `value` says nothing of it: it is to be
/// made by itself.
pub(in crate::redis) fn value_of_each(value: &wire::Value<'_>, place: usize) -> Option<Value> {
    let letter = match value {
        wire::Value::Int(1) => b'1',
        wire::Value::Bulk(letters) => *letters.get(place)?,
        _ => return None,
    };
    match letter {
        b'1' => Some(Value::Int(1)),
        b'0' => Some(Value::Int(0)),
        b'-' => Some(Value::Int(-1)),
        _ => None,
    }
}
