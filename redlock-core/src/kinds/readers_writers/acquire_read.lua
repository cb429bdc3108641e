-- Lets a reader in.
-- KEYS: and for a fenced lock its counter, and the node's marker if it is to be checked.
-- ARGV: token, ttl, advice, the client's name, 'behind' if others of the client that were refused wait behind the
-- caller, and for a fenced lock hint, window and the counter's ttl; and last 'tried', if the connection's user was found
-- to have the commands of readers.
-- A number: granted, and the counter stands there; '=' and a value: another holder's; 'i' and an id: a writer
-- waits; 0: the key is no string. A refusal is remembered for `advice` ms.
local why
local is_held = held and held ~= marker
if is_held then
  why = '=' .. held
else
  local intent = redis.pcall('GET', KEYS[3])
  if type(intent) == 'string' and not is_turn() then why = 'i' .. intent end
end
if why then
  if ARGV[3] ~= '0' then
    local ends = digits(now + ARGV[3])
    redis.pcall('ZREMRANGEBYSCORE', KEYS[4], '-inf', digits(now))
    redis.pcall('ZADD', KEYS[4], 'GT', ends, ARGV[4])
    if is_held then redis.pcall('ZADD', KEYS[4], 'GT', ends, 'due') else redis.pcall('ZREM', KEYS[4], 'due') end
    if redis.call('PTTL', KEYS[4]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[4], ARGV[3]) end
  end
  return why
end
-- A user without one of the commands would leave entries behind.
if ARGV[#ARGV] ~= 'tried' then
  local missing, other = denied(commands(KEYS[2]))
  if missing ~= '' then return {err = 'NOPERM its ACL has to allow' .. missing} end
  if other then return other end
end
-- The first write is a command that a server without memory refuses. An acquisition from a connection that was cut
-- off may come behind an extension from the next one: it does not shorten the entry.
local count = counted(0, ARGV[6], ARGV[7], ARGV[8])
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
if ARGV[3] ~= '0' and ARGV[5] == '' then redis.pcall('ZREM', KEYS[4], ARGV[4]) end
return count
