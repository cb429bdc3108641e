//! Extensions of several locks, or releases of several locks, in one call.

use std::time::Duration;

use crate::node::operation::{Operation, Want};
use crate::node::{Answer, Holding};

use super::super::scripts::{EXTEND_EACH, RELEASE_EACH};
use super::super::wire::{Digits, Value, pack};
use super::{Encoding, is_refusal, millis};

/// The most locks in one call. A server serves nothing else meanwhile, and a call for 64 extensions takes it some
/// 80 µs. Twice as many take 2 % less each.
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

/// What one call asks for several locks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum Each {
    Extend { ttl: Duration },
    Release,
}

impl Each {
    /// The call that `operation` may be sent in, together with others of it.
    pub(in crate::redis) fn of(operation: &Operation, encoding: &Encoding) -> Option<Self> {
        if operation.keys().names().len() != 1 || operation.sharing().is_some() {
            return None;
        }
        match operation.want() {
            Want::Extend { ttl } => Some(Self::Extend { ttl }),
            Want::Release { .. } if encoding.release_each => Some(Self::Release),
            _ => None,
        }
    }

    /// The call for the locks of all `operations`.
    pub(in crate::redis) fn encode<'a>(
        self,
        operations: impl ExactSizeIterator<Item = &'a Operation> + Clone,
        with_text: bool,
    ) -> Vec<u8> {
        let (script, ttl) = match self {
            Self::Extend { ttl } => (&*EXTEND_EACH, Some(millis(ttl))),
            Self::Release => (&*RELEASE_EACH, None),
        };
        let count = Digits::of(operations.len() as u64);
        let head: [&[u8]; 3] = if with_text {
            [b"EVAL", script.text.as_bytes(), count.as_bytes()]
        } else {
            [b"EVALSHA", script.sha.as_bytes(), count.as_bytes()]
        };
        let keys = operations.clone().flat_map(|it| it.keys().names());
        let tokens = operations.map(|it| it.token().as_bytes());
        let words = head.into_iter().chain(keys);
        pack(
            words
                .chain(ttl.as_ref().map(Digits::as_bytes))
                .chain(tokens),
        )
    }

    /// The answer to the operation at `place`, from a node in `epoch`. `None` if `value` says nothing of the
    /// lock: it is to be asked for by itself.
    pub(in crate::redis) fn answer(
        self,
        value: &Value<'_>,
        place: usize,
        epoch: u32,
    ) -> Option<Answer> {
        let letter = match value {
            Value::Int(1) => b'1',
            Value::Bulk(letters) => *letters.get(place)?,
            _ => return None,
        };
        match (letter, self) {
            (b'1', _) => Some(Answer::Granted {
                counter: None,
                epoch,
                permits: None,
            }),
            (b'0', Self::Release) => Some(Answer::Held(Holding::default())),
            (b'-', Self::Release) => Some(Answer::Absent),
            _ => None,
        }
    }
}
