-- Takes several locks, each by itself.
-- KEYS: the locks, and then those that `release.lua` releases. ARGV: the token of each key, and then how many locks are
-- taken, and their ttl.
-- The answer to each that is not taken: the first 557 bytes of what the key holds, which may be huge (no token is that
-- long); or the error of its command. A user who may not run GETRANGE has the GET.
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
