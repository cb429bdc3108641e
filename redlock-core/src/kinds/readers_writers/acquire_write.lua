-- Lets a writer in, or refuses it. A refusal leaves the client's name on the node for `advice` ms.
--   ARGV  token, ttl, advice, the client's name; for a fenced lock also: hint, the counter's ttl, the hint's window
-- Returns 'r' if readers are in, and 't' if it is the readers' turn. Other replies are those of a reader's acquisition.
local why, last
if held and held ~= marker then
  why = '=' .. held
else
  if held then
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', digits(now))
    if redis.call('ZRANGE', KEYS[2], 0, 0)[1] then why = 'r' end
  end
  last = redis.pcall('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2]
  if last and not why and is_turn() then
    why = 't'
    if redis.call('PTTL', KEYS[4]) > 500 then redis.call('PEXPIRE', KEYS[4], 500) end
  end
end
if why then
  local intent = ARGV[3] ~= '0' and redis.pcall('GET', KEYS[3])
  if ARGV[3] ~= '0' and (not intent or intent == ARGV[4]) then
    redis.pcall('SET', KEYS[3], ARGV[4], 'PX', ARGV[3])
  end
  return why
end
local count = counted and counted(2, ARGV[5], ARGV[6], ARGV[7]) or 1
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if held then redis.call('DEL', KEYS[2]) end
if ARGV[4] ~= '' and says(KEYS[3], ARGV[4]) then redis.call('DEL', KEYS[3]) end
-- Readers that were refused so far go first after this writer.
if last then redis.pcall('ZADD', KEYS[4], last, 'due') end
return count
