//! Which command or script serves an operation, and what its reply means.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::node::{Answer, Holding, NodeError, NodeErrorKind, Remaining};
use crate::operation::{HINT_WINDOW, Operation, Want, counter_ttl};
use crate::resource::Resource;

use super::wire::{Digits, Value, pack};

/// What the server at the other end understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Before Redis 7.0: a refused SET NX does not tell who holds the key.
    Plain,
    /// `SET … NX … GET` answers a refusal with the holder's value, at the same cost.
    NamesHolder,
}

/// A constant text; everything that varies reaches it through KEYS and ARGV.
struct Script {
    text: &'static str,
    /// What EVALSHA calls it.
    sha: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        Self {
            text,
            sha: sha1_smol::Sha1::from(text).digest().to_string(),
        }
    }
}

/// Several keys, all or none. Checks every key before it sets any; a script is served as a whole.
static ACQUIRE_ALL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 1, #KEYS do \
           local held = redis.pcall('GET', KEYS[i]) \
           if type(held) == 'table' then return 0 end \
           if held then return held end \
         end \
         for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end \
         return 1",
    )
});

/// The same, and moves the fencing counters, which follow the locks in KEYS, on to one number. The
/// hint is held to the node's own clock, and numbers are written out whole: Lua's are doubles. What is
/// no number that a double can count on from is none.
/// Where a marker comes last, it has to be there, and its quarantine over: what was flushed grants
/// nothing, however recently.
static ACQUIRE_FENCED: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local locks = math.floor(#KEYS / 2) \
         local time = redis.call('TIME') \
         local now = time[1] * 1000000 + time[2] \
         if #KEYS > 2 * locks then \
           local marker = redis.pcall('GET', KEYS[#KEYS]) \
           local ends = type(marker) == 'string' and tonumber(string.match(marker, ' (%d+)$')) \
           if not ends or ends * 1000 > now then return {err = 'NOMARKER'} end \
         end \
         for i = 1, locks do \
           local held = redis.pcall('GET', KEYS[i]) \
           if type(held) == 'table' then return 0 end \
           if held then return held end \
         end \
         local window = tonumber(ARGV[4]) \
         local count = math.min(math.max(tonumber(ARGV[3]), now - window), now + window) \
         local function stands(key) \
           local digits = redis.pcall('GET', key) \
           local n = type(digits) == 'string' and tonumber(digits) \
           if n and n >= 0 and n < 9007199254740991 then return n end \
           return 0 \
         end \
         for i = locks + 1, 2 * locks do count = math.max(count, stands(KEYS[i]) + 1) end \
         for i = 1, locks do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end \
         for i = locks + 1, 2 * locks do \
           redis.call('SET', KEYS[i], string.format('%.0f', count), 'PX', ARGV[5]) \
         end \
         return count",
    )
});

/// 1: all ours, and the counters stand at the token at least; 0: another's; -1: one is gone.
static CONFIRM: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local locks, gone = #KEYS / 2, false \
         for i = 1, locks do \
           local held = redis.pcall('GET', KEYS[i]) \
           if not held then gone = true elseif held ~= ARGV[1] then return 0 end \
         end \
         if gone then return -1 end \
         local function stands(key) \
           local digits = redis.pcall('GET', key) \
           local n = type(digits) == 'string' and tonumber(digits) \
           if n and n >= 0 and n < 9007199254740991 then return n end \
           return 0 \
         end \
         for i = locks + 1, #KEYS do \
           if stands(KEYS[i]) < tonumber(ARGV[2]) then \
             redis.call('SET', KEYS[i], ARGV[2], 'PX', ARGV[3]) \
           end \
         end \
         return 1",
    )
});

/// 1: all ours now; 0: another's.
static RESTORE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 1, #KEYS do \
           local held = redis.pcall('GET', KEYS[i]) \
           if held and held ~= ARGV[1] then return 0 end \
         end \
         for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2]) end \
         return 1",
    )
});

/// 1: all ours, and they live at least so long; 0: another's; -1: one is gone.
static EXTEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local gone = false \
         for i = 1, #KEYS do \
           local held = redis.pcall('GET', KEYS[i]) \
           if not held then gone = true elseif held ~= ARGV[1] then return 0 end \
         end \
         if gone then return -1 end \
         for i = 1, #KEYS do \
           if redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) then \
             redis.call('PEXPIRE', KEYS[i], ARGV[2]) \
           end \
         end \
         return 1",
    )
});

/// 1: ours, and gone now; 0: another's; -1: nothing there.
static RELEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local answer = -1 \
         for i = 1, #KEYS do \
           local held = redis.pcall('GET', KEYS[i]) \
           if held == ARGV[1] then redis.call('DEL', KEYS[i]) answer = 1 \
           elseif held and answer < 0 then answer = 0 end \
         end \
         return answer",
    )
});

/// 1: ours, and lives no longer than so long; 0: another's; -1: nothing there.
static SHORTEN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local answer = -1 \
         for i = 1, #KEYS do \
           local held = redis.pcall('GET', KEYS[i]) \
           if held == ARGV[1] then \
             if redis.call('PTTL', KEYS[i]) > tonumber(ARGV[2]) then \
               redis.call('PEXPIRE', KEYS[i], ARGV[2]) \
             end \
             answer = 1 \
           elseif held and answer < 0 then answer = 0 end \
         end \
         return answer",
    )
});

/// Makes the server remember every script, without a key and so without any effect. Otherwise
/// the first release would be answered with NOSCRIPT, and where that answer gets lost, the SET
/// before it would not be undone. It also shows whether the server's ACL allows scripts.
pub(super) fn introductions() -> [Vec<u8>; 7] {
    let scripts = [
        &ACQUIRE_ALL,
        &ACQUIRE_FENCED,
        &CONFIRM,
        &EXTEND,
        &RESTORE,
        &SHORTEN,
        &RELEASE,
    ];
    scripts.map(|script| {
        // Arguments that any of them can read as its own.
        let words: [&[u8]; 8] = [
            b"EVAL",
            script.text.as_bytes(),
            b"0",
            b"",
            b"10",
            b"0",
            b"0",
            b"10",
        ];
        pack(words.into_iter())
    })
}

/// What decides how an operation is put, besides itself.
#[derive(Clone)]
pub(super) struct Tongue {
    pub(super) dialect: Dialect,
    /// The key of the node's marker, where a fenced acquisition has to look at it. All nodes of one
    /// client have the same one.
    pub(super) marker: Option<Arc<[u8]>>,
}

/// The bytes of `operation`, encoded once for all nodes that understand the same.
pub(super) fn encoded<'a>(operation: &'a Operation, tongue: &Tongue) -> &'a [u8] {
    // Only acquisitions differ: a single one by dialect, a fenced one by the marker.
    let (is_fenced, is_marked) = (operation.counters().is_some(), tongue.marker.is_some());
    let form = match (operation.want(), tongue.dialect) {
        (Want::Acquire { .. }, _) if is_fenced && is_marked => 2,
        (Want::Acquire { .. }, Dialect::NamesHolder) if !is_fenced => 1,
        _ => 0,
    };
    operation.encoded(form, |operation| encode(operation, tongue))
}

fn encode(operation: &Operation, tongue: &Tongue) -> Vec<u8> {
    let mut keys = operation.keys().names();
    match (operation.want(), keys.len()) {
        (Want::Acquire { ttl, .. }, 1) if operation.counters().is_none() => {
            let ttl = millis(ttl);
            let key = keys.next().unwrap_or_default();
            let token = operation.token().as_bytes();
            let words: [&[u8]; 7] = [b"SET", key, token, b"NX", b"PX", ttl.as_bytes(), b"GET"];
            let count = match tongue.dialect {
                Dialect::Plain => 6,
                Dialect::NamesHolder => 7,
            };
            pack(words.into_iter().take(count))
        }
        (Want::Inspect, _) => pack([b"PTTL", keys.next().unwrap_or_default()].into_iter()),
        _ => script_call(operation, tongue, false),
    }
}

fn micros(span: Duration) -> Digits {
    Digits::of(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
}

fn millis(ttl: Duration) -> Digits {
    // Requests are checked to be below a year.
    Digits::of(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
}

/// The script call that the server asked for with NOSCRIPT: with the whole text, which also makes
/// the server remember it.
pub(super) fn encode_with_text(operation: &Operation, tongue: &Tongue) -> Vec<u8> {
    script_call(operation, tongue, true)
}

fn script_call(operation: &Operation, tongue: &Tongue, with_text: bool) -> Vec<u8> {
    let is_fenced = operation.counters().is_some();
    let (script, numbers) = match operation.want() {
        Want::Acquire { ttl, hint } if is_fenced => (
            &*ACQUIRE_FENCED,
            vec![
                millis(ttl),
                Digits::of(hint),
                micros(HINT_WINDOW),
                millis(counter_ttl(ttl)),
            ],
        ),
        Want::Acquire { ttl, .. } => (&*ACQUIRE_ALL, vec![millis(ttl)]),
        Want::Confirm { counter, ttl } => (
            &*CONFIRM,
            vec![Digits::of(counter), millis(counter_ttl(ttl))],
        ),
        Want::Extend { ttl } => (&*EXTEND, vec![millis(ttl)]),
        Want::Restore { ttl } => (&*RESTORE, vec![millis(ttl)]),
        Want::Shorten { ttl } => (&*SHORTEN, vec![millis(ttl)]),
        Want::Release { .. } | Want::Inspect => (&*RELEASE, Vec::new()),
    };
    let counters = operation.counters().map(Resource::names);
    let marker = tongue.marker.as_deref();
    let marker = marker.filter(|_| is_fenced && matches!(operation.want(), Want::Acquire { .. }));
    let keys = operation
        .keys()
        .names()
        .chain(counters.into_iter().flatten())
        .chain(marker);
    let count = Digits::of(keys.clone().count() as u64);
    let head: [&[u8]; 3] = if with_text {
        [b"EVAL", script.text.as_bytes(), count.as_bytes()]
    } else {
        [b"EVALSHA", script.sha.as_bytes(), count.as_bytes()]
    };
    let words = head.into_iter().chain(keys);
    let words = words.chain([operation.token().as_bytes()]);
    pack(words.chain(numbers.iter().map(Digits::as_bytes)))
}

/// Whether the server does not know the script: it was restarted, or its scripts were flushed.
pub(super) fn is_noscript(value: &Value<'_>) -> bool {
    matches!(value, Value::Error(text) if text.starts_with(b"NOSCRIPT"))
}

/// Whether a fenced acquisition granted nothing because the node's marker is gone, or tells of a
/// quarantine.
pub(super) fn is_marker_gone(value: &Value<'_>) -> bool {
    matches!(value, Value::Error(text) if text.starts_with(b"NOMARKER"))
}

/// What `value` means as the answer to `operation`, of a node in `epoch`.
pub(super) fn interpret(
    operation: &Operation,
    dialect: Dialect,
    epoch: u32,
    value: &Value<'_>,
) -> Answer {
    let granted = |counter| Answer::Granted { counter, epoch };
    let (is_script, is_fenced) = (
        operation.keys().names().len() > 1 || operation.counters().is_some(),
        operation.counters().is_some(),
    );
    match (operation.want(), value) {
        (_, Value::Error(text)) if text.starts_with(b"NOMARKER") => {
            let detail = "its marker is gone, or somebody else's quarantine; it is being looked at";
            Answer::Failed(NodeError::unsent(NodeErrorKind::Quarantined, detail))
        }
        (_, Value::Error(text)) if text.starts_with(b"WRONGTYPE") => {
            Answer::Held(Holding::unknown(Remaining::NotALock))
        }
        (_, Value::Error(text)) => Answer::Failed(NodeError::server(text)),
        (Want::Acquire { .. }, Value::Bulk(holder)) => Answer::Held(Holding::by(*holder)),
        (Want::Acquire { .. }, Value::Int(0)) if is_script => {
            Answer::Held(Holding::unknown(Remaining::NotALock))
        }
        (Want::Acquire { .. }, Value::Int(count)) if is_fenced => {
            granted(Some(count.unsigned_abs()))
        }
        (Want::Acquire { .. }, Value::Int(1)) if is_script => granted(None),
        (Want::Acquire { .. }, Value::Simple(b"OK")) if !is_script => granted(None),
        (Want::Acquire { .. }, Value::Nil) if !is_script => match dialect {
            // With GET, nil says that nothing was there before: granted.
            Dialect::NamesHolder => granted(None),
            Dialect::Plain => Answer::Held(Holding::default()),
        },
        (Want::Acquire { .. }, _) => nonsense(),
        (Want::Inspect, Value::Int(-2)) => Answer::Absent,
        (Want::Inspect, Value::Int(-1)) => Answer::Held(Holding::unknown(Remaining::Never)),
        (Want::Inspect, Value::Int(left)) => {
            let left = Duration::from_millis(left.unsigned_abs());
            Answer::Held(Holding::unknown(Remaining::Expires(left)))
        }
        // What is left are scripts, which answer alike.
        (_, Value::Int(1)) => granted(None),
        (_, Value::Int(0)) => Answer::Held(Holding::default()),
        (_, Value::Int(-1)) => Answer::Absent,
        _ => nonsense(),
    }
}

fn nonsense() -> Answer {
    Answer::Failed(NodeError::sent(
        NodeErrorKind::Protocol,
        "the server's answer makes no sense for what was asked",
    ))
}
