-- Makes several calls at once: acquisitions of one key each, and then releases of one key each.
-- KEYS: their keys. ARGV: the number of acquisitions, the token of each key, and the ttl of each acquisition.
-- 1: all are done. Otherwise a list with an entry for each call: 1 if it is done; the error of its command; for an
-- acquisition the first 301 bytes of what the key holds; for a release 0 if the key is another holder's, and -1 if it is
-- missing or no string.
local taken, all, answers = math.max(0, tonumber(ARGV[1]) or 0), true, {}
for i = 1, math.min(taken, #KEYS) do
  local answer = redis.pcall('SET', KEYS[i], ARGV[i + 1], 'NX', 'PX', ARGV[#KEYS + i + 1])
  if not answer then answer = redis.pcall('GETRANGE', KEYS[i], 0, 300) end
  if type(answer) == 'table' and answer.ok then answers[i] = 1 else answers[i], all = answer, false end
end
if #KEYS > taken then
  local held = redis.pcall('MGET', unpack(KEYS, taken + 1))
  local ours, places = {}, {}
  for i = taken + 1, #KEYS do
    local value = held[i - taken]
    if held.err then
      answers[i], all = held, false
    elseif value == ARGV[i + 1] then
      answers[i] = 1
      ours[#ours + 1], places[#places + 1] = KEYS[i], i
    else
      answers[i], all = value and 0 or -1, false
    end
  end
  local deleted = #ours > 0 and redis.pcall('DEL', unpack(ours))
  if type(deleted) == 'table' then
    all = false
    for _, i in ipairs(places) do answers[i] = deleted end
  end
end
if all then return 1 end
return answers
