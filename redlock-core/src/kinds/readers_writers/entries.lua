-- Extends our entry to `till`, or makes it, if `till` is given. Then gives the key and the set the life of the reader
-- that stays longest. The first write needs no memory, because a server that is out of memory refuses a script whose
-- first write may need some. After another write the server accepts such a write.
local function settle(till)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', digits(now))
  if till then redis.call('ZADD', KEYS[2], 'GT', digits(till), ARGV[1]) end
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  if not last[1] then
    redis.call('DEL', KEYS[1])
    return
  end
  local life = digits(last[2] - now)
  if held == marker then
    redis.call('PEXPIRE', KEYS[1], life)
  else
    redis.call('SET', KEYS[1], marker, 'PX', life)
  end
  redis.call('PEXPIRE', KEYS[2], life)
end

