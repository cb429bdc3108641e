-- Makes our entry or moves it forward, if it is told until when, and lets the key and the set live for as long as
-- the reader that stays longest. It begins with a write that needs no memory: a server that is out of memory
-- refuses a command that may need some as the first write of a script, but not after another write.
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

