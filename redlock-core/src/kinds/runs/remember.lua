-- Sets the key to the run record, and returns 1. A record that expires later stays, unless it has over `longest` left.
--   KEYS  the run's key
--   ARGV  record, ttl, longest
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[2]) or left > tonumber(ARGV[3]) then
  -- Delete first, because a full server refuses a SET as the first write. After the DEL the server accepts the record,
  -- which takes about as much memory as the lock key that the release deletes next.
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
