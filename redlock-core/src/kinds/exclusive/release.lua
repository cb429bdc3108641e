-- Deletes the keys that hold our token. One MGET reads all keys in a tenth of the time that single GETs take; GET
-- serves users who may not run MGET.
--   KEYS  the locks that `take_each.lua` takes, then the locks to release, `locks` in all
--   ARGV  the token of all keys, or one token for each key
-- Returns 1 if each key is acquired or deleted, as asked. Otherwise each key to release has an answer: 1 deleted, 0
-- another holder's, -1 missing or not a string. Returns the list of all answers if `each` is true, and the highest
-- answer if not. If the user may not read or delete, the answer is that error.
local ours, values, denied = {}, locks > taken and redis.pcall('MGET', unpack(KEYS, taken + 1, locks)) or {}
if values.err then values = {} end
for i = taken + 1, locks do
  local held = values[i - taken]
  if held == nil then held = redis.pcall('GET', KEYS[i]) end
  if held == (ARGV[i] or ARGV[1]) then
    ours[#ours + 1] = KEYS[i]
  elseif type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then
    denied = held
  else
    answers[i], all = type(held) == 'string' and 0 or -1, false
  end
end
denied = denied or ours[1] and redis.pcall('DEL', unpack(ours))
if type(denied) == 'table' then
  if not each then return denied end
  for i = taken + 1, locks do answers[i], all = denied, false end
end
if all then return 1 end
for i = 1, locks do
  if answers[i] == nil then answers[i] = 1 end
end
return each and answers or math.max(unpack(answers))
