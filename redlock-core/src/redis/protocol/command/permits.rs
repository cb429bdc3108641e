//! The command of an acquisition of a permit, and what its reply means.

use std::sync::Arc;
use std::time::Duration;

use crate::node::operation::Operation;
use crate::node::{Answer, Holding, PermitKey, PermitReport, Remaining};
use crate::redis::protocol::permit_scripts::ACQUIRE_PERMIT;
use crate::redis::protocol::wire::{Digits, Value, pack};

use super::millis;

/// The call of the script.
pub(super) fn encode(operation: &Operation, ttl: Duration, with_text: bool) -> Vec<u8> {
    let (script, permits) = (&*ACQUIRE_PERMIT, operation.permits());
    let (count, ttl) = (Digits::of(permits.len() as u64), millis(ttl));
    let head: [&[u8]; 3] = if with_text {
        [b"EVAL", script.text.as_bytes(), count.as_bytes()]
    } else {
        [b"EVALSHA", script.sha.as_bytes(), count.as_bytes()]
    };
    let words = head.into_iter().chain(permits.iter().map(|key| &*key.key));
    pack(words.chain([operation.token().as_bytes(), ttl.as_bytes()]))
}

/// The meaning of the script's reply; `None` if it is not a valid one.
pub(super) fn interpret(permits: &[PermitKey], epoch: u32, value: &Value<'_>) -> Option<Answer> {
    let Value::Array(parts) = value else {
        return None;
    };
    let [
        Value::Int(is_granted),
        Value::Bulk(bits),
        Value::Int(left),
        holder,
    ] = &parts[..]
    else {
        return None;
    };
    if bits.len() != permits.len() {
        return None;
    }
    let free = permits.iter().zip(*bits).filter(|(_, bit)| **bit == b'1');
    let mut free = free.map(|(key, _)| key.permit).peekable();
    let first = free.peek().copied();
    let mut report = PermitReport {
        taken: None,
        free: free.collect(),
    };
    if *is_granted == 1 {
        report.taken = Some(first?);
        return Some(Answer::Granted {
            counter: None,
            epoch,
            permits: Some(Arc::new(report)),
        });
    }
    let holding = match holder {
        Value::Bulk(value) => Holding::by(*value),
        _ => Holding::default(),
    };
    let remaining = match left {
        -1 => Remaining::Never,
        0.. => Remaining::Expires(Duration::from_millis(left.unsigned_abs())),
        _ => Remaining::NotALock,
    };
    Some(Answer::Held(
        holding.for_time(remaining).with_permits(report),
    ))
}
