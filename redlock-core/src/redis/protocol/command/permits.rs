//! The command of an acquisition of permits, and what its reply means.

use std::sync::Arc;
use std::time::Duration;

use crate::model::permits::{CountRecord, PermitReport, PermitSet};
use crate::node::operation::{HINT_WINDOW, Operation, counter_ttl};
use crate::node::{Answer, Holding, PermitOrder, Remaining};
use crate::redis::protocol::permit_scripts::ACQUIRE_PERMITS;
use crate::redis::protocol::wire::{Digits, Value, pack};

use super::{micros, millis};

/// The call of the script. `marker` is the key of the node's marker, if it is to be checked.
pub(super) fn encode(
    operation: &Operation,
    permits: &PermitOrder,
    (ttl, hint): (Duration, u64),
    marker: Option<&[u8]>,
    with_text: bool,
) -> Vec<u8> {
    let (script, keys) = (&*ACQUIRE_PERMITS, permits.keys());
    let locks = keys.iter().map(|key| &*key.key);
    let counters = keys.iter().filter_map(|key| key.counter.as_deref());
    let names = locks
        .chain(counters)
        .chain([permits.count_key()])
        .chain(marker);
    let count = Digits::of(names.clone().count() as u64);
    let head: [&[u8]; 3] = if with_text {
        [b"EVAL", script.text.as_bytes(), count.as_bytes()]
    } else {
        [b"EVALSHA", script.sha.as_bytes(), count.as_bytes()]
    };
    let record = permits.count_record(operation.token());
    let numbers = [
        millis(ttl),
        Digits::of(permits.count().into()),
        Digits::of(permits.take().into()),
    ];
    let life = millis(counter_ttl(ttl));
    let hinted = [Digits::of(hint), micros(HINT_WINDOW)];
    let hinted = hinted.iter().filter(|_| permits.is_fenced());
    let words = head
        .into_iter()
        .chain(names)
        .chain([operation.token().as_bytes()]);
    let words = words.chain(numbers.iter().map(Digits::as_bytes));
    let words = words.chain([&*record, life.as_bytes()]);
    pack(words.chain(hinted.map(Digits::as_bytes)))
}

/// The meaning of the script's reply; `None` if it is not a valid one.
pub(super) fn interpret(permits: &PermitOrder, epoch: u32, value: &Value<'_>) -> Option<Answer> {
    let Value::Array(parts) = value else {
        return None;
    };
    let [
        Value::Int(is_granted),
        Value::Bulk(bits),
        Value::Int(number),
        holder,
        other,
    ] = &parts[..]
    else {
        return None;
    };
    if bits.len() != permits.keys().len() {
        return None;
    }
    let free = permits.keys().iter().zip(*bits);
    let free = free
        .filter(|(_, bit)| **bit == b'1')
        .map(|(key, _)| key.permit);
    let free: PermitSet = free.collect();
    let other_count = match other {
        Value::Bulk(record) => CountRecord::read(record),
        _ => None,
    };
    let report = |taken| PermitReport {
        taken,
        free,
        other_count: other_count.clone(),
    };
    if *is_granted == 1 {
        return Some(Answer::Granted {
            counter: permits.is_fenced().then(|| number.unsigned_abs()),
            epoch,
            permits: Some(Arc::new(report(permits.granted_of(&free)?))),
        });
    }
    let holding = match holder {
        Value::Bulk(value) => Holding::by(*value),
        _ => Holding::default(),
    };
    let remaining = match number {
        -1 => Remaining::Never,
        0.. => Remaining::Expires(Duration::from_millis(number.unsigned_abs())),
        _ => Remaining::NotALock,
    };
    let report = report(PermitSet::default());
    Some(Answer::Held(
        holding.for_time(remaining).with_permits(report),
    ))
}
