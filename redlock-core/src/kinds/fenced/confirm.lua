-- Raises the counters to at least the number.
-- ARGV: token, number, the counters' ttl.
-- 1: the counters are at the number at least.
local time = redis.call('TIME')
local life = kept_for(ARGV[2], ARGV[3], time[1] * 1000000 + time[2])
for i = locks + 1, #KEYS do
  if stands(KEYS[i]) < tonumber(ARGV[2]) then redis.call('SET', KEYS[i], ARGV[2], 'PX', life) end
end
return 1
