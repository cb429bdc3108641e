//! The script for permits.

use std::sync::LazyLock;

use super::scripts::{Script, stands};

/// Takes the first free ones of n permits, in the order of KEYS: as many as ARGV asks for, or none. KEYS: the
/// n keys; if a fencing token is asked for, the n counters in the same order; the record of the number of
/// permits; and the marker, if it is to be checked. ARGV: token, ttl, n, how many to take, the record, its
/// ttl, and for a fencing token hint and window as for a fenced lock.
///
/// The answer is a list: 1 if they are taken, else 0; for each key `1` if it was free, else `0`, as one text;
/// the number of the counters, or the remaining ms of the key that expires first (-1: never, -3: no string);
/// that key's value; and the record if it says another number.
///
/// One `MGET` reads all keys, in a tenth of the time of as many `GET`; a user who may not run it has the
/// `GET`. `MGET` does not tell a key that is no string from a missing key: so a single permit is taken by
/// `SET NX`, and each of several is looked at by itself first. Behind these, a key that is no string is called
/// free.
pub(super) static ACQUIRE_PERMITS: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        "if #KEYS == 0 then return 0 end \
         local n, take = tonumber(ARGV[3]), tonumber(ARGV[4]) \
         local fenced = ARGV[7] ~= nil \
         local count = fenced and 2 * n + 1 or n + 1 \
         local now = 0 \
         if fenced then \
           local time = redis.call('TIME') \
           now = time[1] * 1000000 + time[2] \
         end \
         if #KEYS > count then \
           local marker = redis.pcall('GET', KEYS[#KEYS]) \
           local ends = type(marker) == 'string' and tonumber(string.match(marker, ' (%d+)$')) \
           if not ends or ends * 1000 > now then return {err = 'NOMARKER'} end \
         end \
         local hint, window = 0, 0 \
         if fenced then \
           hint, window = tonumber(ARGV[7]), tonumber(ARGV[8]) \
         end \
         local values = redis.pcall('MGET', KEYS[count], unpack(KEYS, 1, n)) \
         if values.err then \
           values[1] = redis.pcall('GET', KEYS[count]) \
           for i = 1, n do values[i + 1] = redis.pcall('GET', KEYS[i]) end \
         end \
         local free, bits, found = {}, {}, 0 \
         for i = 1, n do \
           local held = values[i + 1] \
           if not held and found < take then \
             if take > 1 then held = redis.pcall('GET', KEYS[i]) \
             else held = not redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2]) end \
           end \
           if not held then \
             found = found + 1 \
             if found <= take then free[found] = i end \
             bits[i] = '1' \
           else \
             bits[i] = '0' \
           end \
         end \
         bits = table.concat(bits) \
         local record, other = values[1], false \
         local counted = type(record) == 'string' and string.match(record, '^%d+') \
         if counted ~= ARGV[3] then \
           if counted then other = record end \
           redis.call('SET', KEYS[count], ARGV[5], 'PX', ARGV[6]) \
         end \
         if found < take then \
           local least, value = -3, false \
           for i = 1, n do \
             local held = values[i + 1] \
             if type(held) == 'string' then \
               local left = redis.call('PTTL', KEYS[i]) \
               if least == -3 or left >= 0 and (least < 0 or left < least) then least, value = left, held end \
             end \
           end \
           return {0, bits, least, value, other} \
         end \
         local number = 0 \
         if fenced then ",
        stands!(),
        "number = math.min(math.max(hint, now - window), now + window) \
           for i = 1, take do number = math.max(number, stands(KEYS[n + free[i]]) + 1) end \
         end \
         if take > 1 then \
           for i = 1, take do redis.call('SET', KEYS[free[i]], ARGV[1], 'PX', ARGV[2]) end \
         end \
         if fenced then \
           local life = tonumber(ARGV[6]) + math.max(0, math.ceil((number - now) / 1000)) \
           local digits, life = string.format('%.0f', number), string.format('%.0f', life) \
           for i = 1, take do redis.call('SET', KEYS[n + free[i]], digits, 'PX', life) end \
         end \
         return {1, bits, number, false, other}",
    ))
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
