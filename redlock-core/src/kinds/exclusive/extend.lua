-- Extends all locks to at least the ttl. Raises their counters to at least the number. Never shortens a life.
--   ARGV  token, ttl; with counters also: the number, the counters' ttl; last 'back' to restore missing locks
-- Returns 1 if the locks are extended, and -1 if a lock is missing.
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
