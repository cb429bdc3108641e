-- Takes several locks, all or none.
-- KEYS: the locks. ARGV: token, ttl.
-- 1: taken; a text: another holder's token; 0: a key that is no string.
for i = 1, #KEYS do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then return 0 end
  if held then return held end
end
for i = 1, #KEYS do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
return 1
