-- Tries to acquire the first locks, each by itself. `release.lua` follows in the same call.
-- The answer for a lock that is not acquired is the holder's value or the command's error. Values are cut at 557 bytes,
-- one more than the longest token, because a foreign value may be huge. GET serves users who may not run GETRANGE.
local each, answers, all = true, {}, true
local set = redis.pcall
for i = 1, tried do
  local answer = set('SET', KEYS[i], ARGV[i], 'NX', 'PX', ttl)
  if not answer then
    answer = redis.pcall('GETRANGE', KEYS[i], 0, 556)
    if answer.err then answer = redis.pcall('GET', KEYS[i]) end
    if not answer.err then answer = answer:sub(1, 557) end
  end
  if not answer.ok then answers[i], all = answer, false end
end
