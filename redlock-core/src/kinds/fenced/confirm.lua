-- Raises the counters to at least the number, if all locks are ours.
-- KEYS: the locks and their counters. ARGV: token, number, the counters' ttl.
-- 1: the counters are at the number at least; 0: another holder's; -1: a lock is missing.
local locks, gone = math.floor(#KEYS / 2), false
for i = 1, locks do
  local held = redis.pcall('GET', KEYS[i])
  if not held then gone = true elseif held ~= ARGV[1] then return 0 end
end
if gone then return -1 end
local time = redis.call('TIME')
local life = kept_for(ARGV[2], ARGV[3], time[1] * 1000000 + time[2])
for i = locks + 1, #KEYS do
  if stands(KEYS[i]) < tonumber(ARGV[2]) then redis.call('SET', KEYS[i], ARGV[2], 'PX', life) end
end
return 1
