-- Raises the counter to at least the number, if a reader's entry is there.
-- KEYS: and the counter. ARGV: token, number, the counter's ttl.
-- 1: the counter is at the number at least; 0: another's key; -1: gone.
if held and held ~= marker then return 0 end
if not is_in() then return -1 end
if stands(KEYS[5]) < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[5], ARGV[2], 'PX', kept_for(ARGV[2], ARGV[3], micros))
end
return 1
