//! The scripts that servers run.

use std::sync::LazyLock;

use super::permit_scripts::{ACQUIRE_PERMIT, RELEASE_MANY};
use super::sharing_scripts;
use super::wire::pack;

/// A constant text. All variable parts reach it through KEYS and ARGV.
pub(super) struct Script {
    pub(super) text: &'static str,
    /// Its name for EVALSHA.
    pub(super) sha: String,
}

impl Script {
    pub(super) fn new(text: &'static str) -> Self {
        Self {
            text,
            sha: sha1_smol::Sha1::from(text).digest().to_string(),
        }
    }
}

/// A function that reads the number of a fencing counter. A value that is no number, or too large for a
/// double to count on, counts as missing.
macro_rules! stands {
    () => {
        "local function stands(key) \
           local digits = redis.pcall('GET', key) \
           local n = type(digits) == 'string' and tonumber(digits) \
           if n and n >= 0 and n < 9007199254740991 then return n end \
           return 0 \
         end "
    };
}

/// Several keys, all or none. Checks every key before it sets any; a script is served as a whole.
pub(super) static ACQUIRE_ALL: LazyLock<Script> = LazyLock::new(|| {
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

/// The same for a fenced lock. It also raises the fencing counters, which follow the locks in KEYS, to
/// one number, which is two above them all. The hint is limited to the window around the node's own clock. Numbers are written out in
/// full, as Lua's numbers are doubles. A value that is no number, or too large for a double to count
/// on, counts as missing. A counter that is ahead of the clock does not expire before the clock has
/// passed it, as the next one would be lower. If the last key is a marker, it must exist and its
/// quarantine must be over: a node that was flushed a moment ago grants nothing.
pub(super) static ACQUIRE_FENCED: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
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
         local hint, window = tonumber(ARGV[3]), tonumber(ARGV[4]) \
         local count = math.min(math.max(hint, now - window), now + window) ",
        stands!(),
        "for i = locks + 1, 2 * locks do count = math.max(count, stands(KEYS[i]) + 2) end \
         for i = 1, locks do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end \
         local life = tonumber(ARGV[5]) + math.max(0, math.ceil((count - now) / 1000)) \
         local digits, life = string.format('%.0f', count), string.format('%.0f', life) \
         for i = locks + 1, 2 * locks do redis.call('SET', KEYS[i], digits, 'PX', life) end \
         return count",
    ))
});

/// 1: all keys are ours, and the counters are at the token at least; 0: another holder's; -1: one is
/// missing.
pub(super) static CONFIRM: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        "local locks, gone = #KEYS / 2, false \
         for i = 1, locks do \
           local held = redis.pcall('GET', KEYS[i]) \
           if not held then gone = true elseif held ~= ARGV[1] then return 0 end \
         end \
         if gone then return -1 end ",
        stands!(),
        "local time = redis.call('TIME') \
         local ahead = tonumber(ARGV[2]) - time[1] * 1000000 - time[2] \
         local life = tonumber(ARGV[3]) + math.max(0, math.ceil(ahead / 1000)) \
         local life = string.format('%.0f', life) \
         for i = locks + 1, #KEYS do \
           if stands(KEYS[i]) < tonumber(ARGV[2]) then \
             redis.call('SET', KEYS[i], ARGV[2], 'PX', life) \
           end \
         end \
         return 1",
    ))
});

/// 1: all keys are ours now, and live for at least the ttl; 0: another holder's.
pub(super) static RESTORE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 1, #KEYS do \
           local held = redis.pcall('GET', KEYS[i]) \
           if held and held ~= ARGV[1] then return 0 end \
         end \
         for i = 1, #KEYS do \
           if not redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2]) \
             and redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) then \
             redis.call('PEXPIRE', KEYS[i], ARGV[2]) \
           end \
         end \
         return 1",
    )
});

/// 1: all keys are ours, and live for at least the ttl; a text: another holder's token; 0: a key that is no
/// string; -1: one is missing. The counters of a fenced lock follow the locks in KEYS. They live for at least
/// the third argument.
pub(super) static EXTEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local locks, gone = ARGV[3] and #KEYS / 2 or #KEYS, false \
         for i = 1, locks do \
           local held = redis.pcall('GET', KEYS[i]) \
           if type(held) == 'table' then return 0 end \
           if not held then gone = true elseif held ~= ARGV[1] then return held end \
         end \
         if gone then return -1 end \
         for i = 1, #KEYS do \
           local life = i > locks and ARGV[3] or ARGV[2] \
           if redis.call('PTTL', KEYS[i]) < tonumber(life) then redis.call('PEXPIRE', KEYS[i], life) end \
         end \
         return 1",
    )
});

/// The release of several locks, each with one key and a token of its own. 1: all are deleted; a text: for each
/// a `1` if it is deleted, `0` if it is another holder's, and `-` if it is missing or no string.
pub(super) static RELEASE_EACH: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local held, ours, answers = redis.call('MGET', unpack(KEYS)), {}, {} \
         for i = 1, #KEYS do \
           if held[i] == ARGV[i] then \
             ours[#ours + 1], answers[i] = KEYS[i], '1' \
           else \
             answers[i] = held[i] and '0' or '-' \
           end \
         end \
         if #ours > 0 then redis.call('DEL', unpack(ours)) end \
         if #ours == #KEYS then return 1 end \
         return table.concat(answers)",
    )
});

/// The script of several releases, for a key that never exists. An error says that the server's ACL forbids `MGET`.
/// Then each release is a call of its own: a release that is refused in its call is sent again behind later
/// acquisitions.
pub(in crate::redis) fn release_each_trial(key_prefix: &[u8]) -> Vec<u8> {
    let key = [key_prefix, b"redlock:permissions"].concat();
    let words: [&[u8]; 5] = [b"EVAL", RELEASE_EACH.text.as_bytes(), b"1", &key, b""];
    pack(words.into_iter())
}

/// 1: the keys were ours, and are deleted; 0: another holder's; -1: none exists.
pub(super) static RELEASE: LazyLock<Script> = LazyLock::new(|| {
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

/// 1: the keys hold the run record, or what they held, if that expires later than the second argument and not
/// later than the third. Sent with its text each time, and so not among the introductions: an answer NOSCRIPT
/// would put the record behind the release of its lock.
///
/// A server that is out of memory refuses a `SET` as the first write of a script. After the `DEL` it accepts
/// the record, which takes about as much memory as the lock key that the release deletes.
pub(super) const REMEMBER: &str = "for i = 1, #KEYS do \
       local left = redis.call('PTTL', KEYS[i]) \
       if left < tonumber(ARGV[2]) or left > tonumber(ARGV[3]) then \
         redis.call('DEL', KEYS[i]) \
         redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) \
       end \
     end \
     return 1";

/// The remaining ms of the run record that expires first, a space, and the record; nil: a key is
/// missing, never expires, or is not a string. Sent with its text each time, as `REMEMBER`: a lock
/// without a period has no part in either.
pub(super) const RECALL: &str = "local least, record \
     for i = 1, #KEYS do \
       local value, left = redis.pcall('GET', KEYS[i]), redis.call('PTTL', KEYS[i]) \
       if type(value) ~= 'string' or left < 0 then return false end \
       if not least or left < least then least, record = left, value end \
     end \
     return string.format('%.0f ', least) .. record";

/// The place, from 0, of the first key that exists, its remaining ms (-1: it never expires) and its value,
/// with a space between; nil: no key exists. If that key is not a string, its error `WRONGTYPE` is the
/// answer. Sent with its text each time, as `RECALL`: a client that only locks one name never sends it.
pub(super) const PEEK: &str = "for i = 1, #KEYS do \
       local value = redis.pcall('GET', KEYS[i]) \
       if type(value) == 'table' then return value end \
       if value then \
         return string.format('%.0f %.0f ', i - 1, redis.call('PTTL', KEYS[i])) .. value \
       end \
     end \
     return false";

/// KEYS: all keys of a lock; ARGV: the tokens that lose theirs. Who is on the keys afterwards, a line each: `h`
/// and a holder's token, `w` and the id of a waiting writer. Deletes no other's key, so that a call that arrives late
/// takes nothing from later holders. Sent with its text each time, as `RECALL`.
pub(super) const FORCE_RELEASE: &str = "local lost, left, live = {}, {}, 0 \
     for _, token in ipairs(ARGV) do lost[token] = true end \
     local time = redis.call('TIME') \
     local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)) \
     for _, key in ipairs(KEYS) do \
       local value = redis.pcall('GET', key) \
       if type(value) == 'table' then \
         local readers = redis.pcall('ZRANGE', key, '-inf', '+inf', 'BYSCORE') \
         if readers.err and not string.find(readers.err, 'WRONGTYPE', 1, true) then return readers end \
         for _, reader in ipairs(readers) do \
           if lost[reader] then redis.call('ZREM', key, reader) end \
         end \
         readers = redis.pcall('ZRANGE', key, '(' .. now, '+inf', 'BYSCORE') \
         for _, reader in ipairs(readers) do left[#left + 1] = 'h' .. reader end \
         live = live + #readers \
       elseif value and lost[value] then redis.call('DEL', key) \
       elseif value and string.find(key, 'redlock:intent:', 1, true) then left[#left + 1] = 'w' .. value \
       elseif value and value ~= 'redlock:readers' then left[#left + 1] = 'h' .. value end \
     end \
     for _, key in ipairs(live == 0 and KEYS or {}) do \
       if redis.pcall('GET', key) == 'redlock:readers' then redis.call('DEL', key) end \
     end \
     table.sort(left) \
     return table.concat(left, '\\n')";

/// A function that calls commands without an effect. It names those that the user may not run, with a space and a
/// `+` before each; and it returns the first error of another kind. That the user may not touch the key is such an
/// error. Redis 7.0 words a denial differently from later versions and Valkey.
macro_rules! denied {
    () => {
        "local function denied(calls) \
           local missing, other = '', false \
           for _, call in ipairs(calls) do \
             local answer = redis.pcall(unpack(call)) \
             local why = type(answer) == 'table' and answer.err \
             if why and (string.find(why, 'run this command', 1, true) \
               or string.find(why, 'permissions to run the', 1, true)) then \
               missing = missing .. ' +' .. string.lower(call[1]) \
             elseif why then other = other or answer end \
           end \
           return missing, other \
         end "
    };
}
pub(super) use denied;

/// Calls of the commands that readers and writers need beside the others, which change nothing.
macro_rules! reader_commands {
    ($key:literal) => {
        concat!(
            "{{'ZADD', ",
            $key,
            ", 'XX', '1', ''}, {'ZSCORE', ",
            $key,
            ", ''}, {'ZREM', ",
            $key,
            ", ''}, {'ZREMRANGEBYSCORE', ",
            $key,
            ", '-inf', '0'}, {'ZRANGE', ",
            $key,
            ", '0', '0'}}"
        )
    };
}
pub(super) use reader_commands;

/// The commands that every lock needs, as an operator allows them.
pub(in crate::redis) const NEEDED: &str = "+set +get +del +pexpire +pttl +evalsha +eval +time";

/// Tests what the user may run, on a key that never exists, under the prefix in ARGV (a key in KEYS would have to be
/// in a slot of the Cluster node). Without this test only a lock would show it: without DEL, all works until a
/// release leaves the key. An error names what every lock needs; the answer is what only readers and writers need.
static PERMISSIONS: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        denied!(),
        "local key = ARGV[1] .. 'redlock:permissions' \
         local missing = denied({ \
           {'TIME'}, {'GET', key}, {'PTTL', key}, {'DEL', key}, {'PEXPIRE', key, '1'}, \
           {'SET', key, '', 'XX', 'PX', '1'}, \
         }) \
         if missing ~= '' then return {err = 'NOPERM its ACL has to allow' .. missing} end \
         return (denied(",
        reader_commands!("key"),
        "))",
    ))
});

/// The call of that test.
pub(in crate::redis) fn permissions_trial(key_prefix: &[u8]) -> Vec<u8> {
    let words = [b"EVAL", PERMISSIONS.text.as_bytes(), b"0", key_prefix];
    pack(words.into_iter())
}

/// Makes the server remember every script, without a key and so without an effect. Otherwise the first
/// release would be answered with NOSCRIPT, and if that answer were lost, the SET before it would not
/// be undone. It also shows whether the server's ACL allows scripts and the commands in them.
pub(in crate::redis) fn introductions() -> impl Iterator<Item = Vec<u8>> {
    let scripts = [
        &ACQUIRE_ALL,
        &ACQUIRE_FENCED,
        &CONFIRM,
        &EXTEND,
        &RESTORE,
        &RELEASE,
        &ACQUIRE_PERMIT,
        &RELEASE_MANY,
    ];
    let scripts = scripts.map(|script| &**script).into_iter();
    let shared = sharing_scripts::all().into_iter().map(|(_, script)| script);
    // Arguments that each script can read as its own.
    let run = |command: &[u8], script: &str| {
        let words: [&[u8]; 8] = [
            command,
            script.as_bytes(),
            b"0",
            b"",
            b"10",
            b"0",
            b"0",
            b"10",
        ];
        pack(words.into_iter())
    };
    let known = scripts
        .chain(shared)
        .map(move |script| run(b"EVAL", script.text));
    let called = run(b"EVALSHA", &RELEASE.sha);
    known.chain([called])
}

/// The names and texts of the scripts, for a simulated server.
#[cfg(feature = "simulation")]
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let shared = sharing_scripts::all().into_iter();
    let shared = shared.map(|(name, script)| (name, script.text));
    [
        ("acquire-all", ACQUIRE_ALL.text),
        ("acquire-fenced", ACQUIRE_FENCED.text),
        ("confirm", CONFIRM.text),
        ("extend", EXTEND.text),
        ("release-each", RELEASE_EACH.text),
        ("peek", PEEK),
        ("force-release", FORCE_RELEASE),
        ("restore", RESTORE.text),
        ("release", RELEASE.text),
        ("acquire-permit", ACQUIRE_PERMIT.text),
        ("release-many", RELEASE_MANY.text),
    ]
    .into_iter()
    .chain(shared)
}
