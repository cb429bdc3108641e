-- Sets the keys to the run record, but for those that hold anything that expires later, within the longest.
-- KEYS: those of runs. ARGV: record, ttl, longest.
-- 1: done.
for i = 1, #KEYS do
  local left = redis.call('PTTL', KEYS[i])
  if left < tonumber(ARGV[2]) or left > tonumber(ARGV[3]) then
    -- A server that is out of memory refuses a SET as the first write. After the DEL it accepts the record,
    -- which takes about as much memory as the lock key that the release deletes.
    redis.call('DEL', KEYS[i])
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  end
end
return 1
