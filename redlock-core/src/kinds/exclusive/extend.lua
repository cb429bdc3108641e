-- Lets all keys live for at least the ttl, if all locks are ours. Never shortens.
-- KEYS: the locks, and then the counters of a fenced lock.
-- ARGV: token, ttl, and the counters' ttl if there are any.
-- 1: extended; a text: another holder's token; 0: a key that is no string; -1: one is missing.
local locks, gone = ARGV[3] and #KEYS / 2 or #KEYS, false
for i = 1, locks do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then return 0 end
  if not held then gone = true elseif held ~= ARGV[1] then return held end
end
if gone then return -1 end
for i = 1, #KEYS do
  local life = i > locks and ARGV[3] or ARGV[2]
  if redis.call('PTTL', KEYS[i]) < tonumber(life) then redis.call('PEXPIRE', KEYS[i], life) end
end
return 1
