-- The beginning of a reader's acquisition: refuses it if another holder has the key, or a writer waits.
-- ARGV: token, ttl, advice, the client's name, 'last' if nodes may have refused the caller and no other of the client
-- that was refused waits, and for a fenced lock hint, the counter's ttl and the hint's window; and last 'tried', if the
-- connection's user was found to have the commands of readers.
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

