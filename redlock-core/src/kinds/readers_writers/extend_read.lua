-- Lets a reader's entry live for at least the ttl. Never makes an entry.
-- KEYS: and the counter of a fenced lock. ARGV: token, ttl, and the counter's ttl if there is one.
-- 1: extended, and the counter lives for at least its own ttl; a text: another holder's token; 0: no string; -1: gone.
if held and held ~= marker then return held end
if not is_in() then return -1 end
settle(now + ARGV[2])
if ARGV[3] and redis.call('PTTL', KEYS[5]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[5], ARGV[3])
end
return 1
