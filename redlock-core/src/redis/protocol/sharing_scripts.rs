//! The scripts of locks with readers and writers.
//!
//! KEYS are the lock's key, the readers, the intent and the turn; a fenced acquisition, its confirmation and
//! its extension have the counter as the fifth, and a checked acquisition the node's marker as the sixth. A reader's release
//! has the first two only. Without keys a script has no effect. ARGV begins with the owner token.
//!
//! At one node there is never a writer's key beside a reader's entry that has not ended, except if the key
//! was lost: then old entries are of no account, and the next reader that creates the key removes them.
//! An entry counts only beside the readers' marker.

use std::sync::LazyLock;

use super::scripts::{Script, denied, reader_commands};

/// The beginning of each script: the key's value. A key that is no string is another's.
macro_rules! held {
    () => {
        "if #KEYS == 0 then return 0 end \
         local marker = 'redlock:readers' \
         local function says(key, text) return redis.pcall('GET', key) == text end \
         local held = redis.pcall('GET', KEYS[1]) \
         if type(held) == 'table' then return 0 end "
    };
}

/// The node's time in ms. Numbers are written out in full, as Lua's numbers are doubles.
macro_rules! clock {
    () => {
        "local time = redis.call('TIME') \
         local now = time[1] * 1000 + math.floor(time[2] / 1000) \
         local function digits(number) return string.format('%.0f', number) end "
    };
}

/// Both, for a script that needs the time in any case.
macro_rules! begun {
    () => {
        concat!(held!(), clock!())
    };
}

/// `settle` makes our entry or moves it forward, if it is told until when, and lets the key and the set live for as
/// long as the reader that stays longest. It begins with a write that needs no memory: a server that is out of
/// memory refuses a command that may need some as the first write of a script, but not after another write.
/// `ends` is the end of our entry, if it counts.
macro_rules! entries {
    () => {
        "local function settle(till) \
           redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', digits(now)) \
           if till then redis.call('ZADD', KEYS[2], 'GT', digits(till), ARGV[1]) end \
           local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES') \
           if not last[1] then redis.call('DEL', KEYS[1]) return end \
           local life = digits(last[2] - now) \
           if held == marker then redis.call('PEXPIRE', KEYS[1], life) \
           else redis.call('SET', KEYS[1], marker, 'PX', life) end \
           redis.call('PEXPIRE', KEYS[2], life) \
         end \
         local ends = held == marker and redis.call('ZSCORE', KEYS[2], ARGV[1]) \
         ends = ends and tonumber(ends) \
         if ends and ends <= now then ends = nil end "
    };
}

/// A node that was flushed a moment ago grants no fenced lock.
macro_rules! marked {
    () => {
        "local micros = time[1] * 1000000 + time[2] \
         if #KEYS > 5 then \
           local checked = redis.pcall('GET', KEYS[6]) \
           local till = type(checked) == 'string' and tonumber(string.match(checked, ' (%d+)$')) \
           if not till or till * 1000 > micros then return {err = 'NOMARKER'} end \
         end "
    };
}

/// The number at which the counter will stand: two above it for a writer, and at it for a reader. Both take
/// the hint into account as `ACQUIRE_FENCED` does.
macro_rules! counted {
    ($above:literal) => {
        concat!(
            "local count = 1 \
             if #KEYS > 4 then \
               local hint, window = tonumber(ARGV[5]), tonumber(ARGV[6]) \
               count = math.min(math.max(hint, micros - window), micros + window) \
               local stands = redis.pcall('GET', KEYS[5]) \
               stands = type(stands) == 'string' and tonumber(stands) \
               if not (stands and stands >= 0 and stands < 9007199254740991) then stands = 0 end \
               count = math.max(count, stands + ",
            $above,
            ") \
               local life = tonumber(ARGV[7]) + math.max(0, math.ceil((count - micros) / 1000)) \
               redis.call('SET', KEYS[5], digits(count), 'PX', digits(life)) \
             end "
        )
    };
}

/// ARGV: token, ttl, advice, `tried` or an empty text, and for a fenced lock hint, window and counter ttl. A
/// number: granted, and the counter stands there; `=` and a value: another holder's; `i` and an id: a writer
/// waits; 0: the key is no string. A refusal is remembered for `advice` ms.
///
/// Unless they were `tried` when the connection began, it tries each command that the scripts of readers need,
/// before it writes: a user without one of them would leave entries behind. Its first write is a command that a
/// server without memory refuses.
///
/// An acquisition from a connection that was cut off may come behind an extension from the next one. It does not
/// shorten the entry.
pub(super) static ACQUIRE_READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        begun!(),
        marked!(),
        "local why \
         if held and held ~= marker then why = '=' .. held \
         else \
           local intent = redis.pcall('GET', KEYS[3]) \
           if type(intent) == 'string' and not says(KEYS[4], 'turn') then why = 'i' .. intent end \
         end \
         if why then \
           if ARGV[3] ~= '0' and not says(KEYS[4], 'turn') then \
             redis.pcall('SET', KEYS[4], 'waiting', 'PX', ARGV[3]) \
           end \
           return why \
         end \
         ",
        denied!(),
        "if ARGV[4] ~= 'tried' then \
           local missing, other = denied(",
        reader_commands!("KEYS[2]"),
        ") \
           if missing ~= '' then return {err = 'NOPERM its ACL has to allow' .. missing} end \
           if other then return other end \
         end ",
        counted!("0"),
        "local ends, life = now + ARGV[2], ARGV[2] \
         if held then \
           redis.call('ZADD', KEYS[2], 'GT', digits(ends), ARGV[1]) \
           redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', digits(now)) \
           local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES') \
           if tonumber(last[2]) > ends then life = digits(last[2] - now) end \
           redis.call('PEXPIRE', KEYS[1], life) \
         else \
           redis.call('SET', KEYS[1], marker, 'PX', life) \
           redis.call('DEL', KEYS[2]) \
           redis.call('ZADD', KEYS[2], digits(ends), ARGV[1]) \
         end \
         redis.call('PEXPIRE', KEYS[2], life) \
         return count",
    ))
});

/// ARGV: as for a reader, with the id of the waiting writer as the fourth. `r`: readers are in; `t`:
/// it is the readers' turn; otherwise as for a reader. A refusal leaves the id for `advice` ms.
pub(super) static ACQUIRE_WRITE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        begun!(),
        marked!(),
        "local why \
         if held and held ~= marker then why = '=' .. held \
         else \
           if held then \
             redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', digits(now)) \
             if redis.call('ZRANGE', KEYS[2], 0, 0)[1] then why = 'r' end \
           end \
           if not why and says(KEYS[4], 'turn') then why = 't' end \
         end \
         if why then \
           local intent = ARGV[3] ~= '0' and redis.pcall('GET', KEYS[3]) \
           if ARGV[3] ~= '0' and (not intent or intent == ARGV[4]) then \
             redis.pcall('SET', KEYS[3], ARGV[4], 'PX', ARGV[3]) \
           end \
           return why \
         end ",
        counted!("2"),
        "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) \
         redis.call('DEL', KEYS[2]) \
         if ARGV[4] ~= '' and says(KEYS[3], ARGV[4]) then redis.call('DEL', KEYS[3]) end \
         return count",
    ))
});

/// ARGV: token, ttl, and the counter's ttl if there is one. 1: our entry lives for at least the ttl, and the
/// counter for at least its own; a text: another holder's token; 0: no string; -1: gone. Never makes an entry.
pub(super) static EXTEND_READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        begun!(),
        entries!(),
        "if held and held ~= marker then return held end \
         if not ends then return -1 end \
         settle(now + ARGV[2]) \
         if ARGV[3] and redis.call('PTTL', KEYS[5]) < tonumber(ARGV[3]) then \
           redis.call('PEXPIRE', KEYS[5], ARGV[3]) \
         end \
         return 1",
    ))
});

/// ARGV: token, number, counter ttl. 1: our entry is there, and the counter is at the number at least; 0:
/// another's key; -1: gone.
pub(super) static CONFIRM_READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        begun!(),
        entries!(),
        "if held and held ~= marker then return 0 end \
         if not ends then return -1 end \
         local stands = redis.pcall('GET', KEYS[5]) \
         stands = type(stands) == 'string' and tonumber(stands) \
         if not (stands and stands >= 0 and stands < 9007199254740991) then stands = 0 end \
         if stands < tonumber(ARGV[2]) then \
           local ahead = tonumber(ARGV[2]) - time[1] * 1000000 - time[2] \
           local life = tonumber(ARGV[3]) + math.max(0, math.ceil(ahead / 1000)) \
           redis.call('SET', KEYS[5], ARGV[2], 'PX', digits(life)) \
         end \
         return 1",
    ))
});

/// ARGV: token, ttl. 1: our entry is there now; 0: another's key. The entry is put back beside other readers,
/// never beside another key.
pub(super) static RESTORE_READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        begun!(),
        entries!(),
        "if held and held ~= marker then return 0 end \
         if not held then redis.call('DEL', KEYS[2]) end \
         settle(now + ARGV[2]) \
         return 1",
    ))
});

/// ARGV: token, the id of a waiting writer or an empty text, the readers' turn in ms. 1: deleted; 0:
/// another's; -1: nothing there. The last reader deletes the key, the others shorten it. A writer gives the readers
/// that were refused their turn; a server that cannot write this advice goes on without.
pub(super) static RELEASE_SHARED: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        held!(),
        "if ARGV[2] ~= '' and says(KEYS[3], ARGV[2]) then redis.call('DEL', KEYS[3]) end \
         if held == ARGV[1] then \
           redis.call('DEL', KEYS[1]) \
           if ARGV[3] ~= '0' and says(KEYS[4], 'waiting') then \
             redis.pcall('SET', KEYS[4], 'turn', 'PX', ARGV[3]) \
           end \
           return 1 \
         end \
         if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then \
           if held ~= marker then return 1 end \
           if redis.call('PTTL', KEYS[2]) == -2 then \
             redis.call('DEL', KEYS[1]) \
             return 1 \
           end ",
        clock!(),
        entries!(),
        "settle() \
           return 1 \
         end \
         return held and 0 or -1",
    ))
});

/// All of them, by name.
pub(super) fn all() -> [(&'static str, &'static Script); 6] {
    [
        ("acquire-read", &ACQUIRE_READ),
        ("acquire-write", &ACQUIRE_WRITE),
        ("extend-read", &EXTEND_READ),
        ("confirm-read", &CONFIRM_READ),
        ("restore-read", &RESTORE_READ),
        ("release-shared", &RELEASE_SHARED),
    ]
}
