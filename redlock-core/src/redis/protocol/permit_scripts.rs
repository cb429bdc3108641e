//! The script for permits.

use std::sync::LazyLock;

use super::scripts::Script;

/// Takes the first free one of several permits, in the order of KEYS. ARGV: token, ttl.
///
/// The answer is a list: 1 if one is taken, else 0; for each key `1` if it was free, else `0`, as one text; the
/// remaining ms of the key that expires first (-1: never, -3: no string); and that key's value.
///
/// One `MGET` reads all keys, in a tenth of the time of as many `GET`; a user who may not run it has the
/// `GET`. `MGET` does not tell a key that is no string from a missing key: so the permit is taken by `SET NX`.
/// Behind it, a key that is no string is called free.
pub(super) static ACQUIRE_PERMIT: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if #KEYS == 0 then return 0 end \
         local values = redis.pcall('MGET', unpack(KEYS)) \
         if values.err then \
           values = {} \
           for i = 1, #KEYS do values[i] = redis.pcall('GET', KEYS[i]) end \
         end \
         local bits, taken = {}, false \
         for i = 1, #KEYS do \
           local held = values[i] \
           if not held and not taken then \
             taken = redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2]) \
             held = not taken \
           end \
           bits[i] = held and '0' or '1' \
         end \
         bits = table.concat(bits) \
         if taken then return {1, bits, 0, false} end \
         local least, value = -3, false \
         for i = 1, #KEYS do \
           local held = values[i] \
           if type(held) == 'string' then \
             local left = redis.call('PTTL', KEYS[i]) \
             if least == -3 or left >= 0 and (least < 0 or left < least) then least, value = left, held end \
           end \
         end \
         return {0, bits, least, value}",
    )
});

/// The release of many keys, which one `MGET` reads, if the user may run it. Answers as the release of few,
/// but for a key that is no string: it counts as missing.
pub(super) static RELEASE_MANY: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if #KEYS == 0 then return -1 end \
         local values = redis.pcall('MGET', unpack(KEYS)) \
         local answer = -1 \
         for i = 1, #KEYS do \
           local held = values[i] \
           if values.err then held = redis.pcall('GET', KEYS[i]) end \
           if held == ARGV[1] then redis.call('DEL', KEYS[i]) answer = 1 \
           elseif held and answer < 0 then answer = 0 end \
         end \
         return answer",
    )
});
