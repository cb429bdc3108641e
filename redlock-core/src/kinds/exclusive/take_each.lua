-- Acquires several independent locks. `release.lua` follows and releases others in the same call.
--   KEYS  the locks to acquire, then the locks to release
--   ARGV  one token for each key; the number of locks to acquire; their ttl
-- The answer for a lock that is not acquired is the holder's value or the command's error. Values are cut at 557 bytes,
-- one more than the longest token, because a foreign value may be huge. GET serves users who may not run GETRANGE.
local taken, ttl = tonumber(ARGV[#KEYS + 1]) or 0, ARGV[#KEYS + 2]
local each, taken, answers, all = true, math.max(0, math.min(#KEYS, taken)), {}, true
local set = redis.pcall
for i = 1, taken do
  local answer = set('SET', KEYS[i], ARGV[i], 'NX', 'PX', ttl)
  if not answer then
    answer = redis.pcall('GETRANGE', KEYS[i], 0, 556)
    if answer.err then answer = redis.pcall('GET', KEYS[i]) end
    if not answer.err then answer = answer:sub(1, 557) end
  end
  if not answer.ok then answers[i], all = answer, false end
end
