-- Makes a reader's entry, at the end of its acquisition. The first write is a command that a server without memory
-- refuses. An acquisition from a broken connection may arrive after an extension from the next one, so GT keeps the
-- entry from getting shorter.
local count = counted and counted(0, ARGV[6], ARGV[7], ARGV[8]) or 1
local ends, life = now + ARGV[2], ARGV[2]
if held then
  redis.call('ZADD', KEYS[2], 'GT', digits(ends), ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', digits(now))
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  if tonumber(last[2]) > ends then life = digits(last[2] - now) end
  redis.call('PEXPIRE', KEYS[1], life)
else
  redis.call('SET', KEYS[1], marker, 'PX', life)
  redis.call('DEL', KEYS[2])
  redis.call('ZADD', KEYS[2], digits(ends), ARGV[1])
end
redis.call('PEXPIRE', KEYS[2], life)
if ARGV[5] == 'last' then redis.pcall('ZREM', KEYS[4], ARGV[4]) end
return count
