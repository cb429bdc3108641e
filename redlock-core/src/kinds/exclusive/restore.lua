-- Sets the missing keys again, and lets all live for at least the ttl, if none is another's.
-- KEYS: the locks. ARGV: token, ttl.
-- 1: all are ours; 0: another holder's.
for i = 1, #KEYS do
  local held = redis.pcall('GET', KEYS[i])
  if held and held ~= ARGV[1] then return 0 end
end
for i = 1, #KEYS do
  if not redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
    and redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
return 1
