-- Deletes the keys that are ours. One MGET reads all keys, in a tenth of the time of as many GET. A user who may not
-- run it has the GET.
-- KEYS: the locks, behind those that `take_each.lua` takes. ARGV: the token of all, or the token of each.
-- 1: all are deleted. Otherwise 1 for a key that is deleted; 0 for another holder's; -1 for a key that is missing or no
-- string: the highest of these, or a list with the answer to each key if `each`. If the user may not read or delete, the
-- answer is the error.
local ours, values, denied = {}, #KEYS > taken and redis.pcall('MGET', unpack(KEYS, taken + 1)) or {}
if values.err then values = {} end
for i = taken + 1, #KEYS do
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
  for i = taken + 1, #KEYS do answers[i], all = denied, false end
end
if all then return 1 end
for i = 1, #KEYS do
  if answers[i] == nil then answers[i] = 1 end
end
return each and answers or math.max(unpack(answers))
