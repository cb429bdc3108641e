-- Lets all keys live for at least the ttl. Never shortens.
-- ARGV: token, ttl, and the counters' ttl if there are any.
-- 1: extended.
for i = 1, #KEYS do
  local life = i > locks and ARGV[3] or ARGV[2]
  if redis.call('PTTL', KEYS[i]) < tonumber(life) then redis.call('PEXPIRE', KEYS[i], life) end
end
return 1
