-- Lets all locks live for at least the ttl, and raises their counters to at least the number. Never shortens.
-- ARGV: token, ttl, with counters number and the counters' ttl, and last 'back' if missing locks are put back.
-- 1: extended; -1: a lock is missing.
if gone > 0 and ARGV[#ARGV] ~= 'back' then return -1 end
for i = 1, locks do
  local left = redis.call('PTTL', KEYS[i])
  if left == -2 then
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  elseif left < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
if counted then counted(0, ARGV[3], ARGV[4]) end
return 1
