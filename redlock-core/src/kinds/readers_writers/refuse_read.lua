-- Refuses a reader if another holder has the key or a writer waits. The node remembers the refusal for `advice` ms.
--   ARGV  token, ttl, advice, client's name, 'last' or ''; for a fenced lock also: hint, counter's ttl, hint's window;
--         then 'tried' if the connection's user is known to have the commands of readers
-- 'last' means that nodes may have refused the caller, and that no other refused reader of its client waits.
-- Returns the counter's new value if the lock is granted, or 1 without a counter. Otherwise returns '=' and another
-- holder's value, 'i' and a waiting writer's name, or 0 if the key is not a string.
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

