-- Sets the key to the run record, unless it holds anything that expires later, within the longest.
-- KEYS: the run's. ARGV: record, ttl, longest.
-- 1: done.
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[2]) or left > tonumber(ARGV[3]) then
  -- A server that is out of memory refuses a SET as the first write. After the DEL it accepts the record,
  -- which takes about as much memory as the lock key that the release deletes.
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
