-- Deletes the keys that are ours. One MGET reads all keys, in a tenth of the time of as many GET. A user who may not
-- run it has the GET.
-- KEYS: the locks. ARGV: the token of all, or the token of each.
-- 1: all are deleted. Otherwise 1 for a key that is deleted; 0 for another holder's; -1 for a key that is missing or no
-- string: the highest of these, or a list with the number of each key if each has a token.
local values, ours = redis.pcall('MGET', unpack(KEYS)), {}
if values.err then values = {} end
for i = 1, #KEYS do
  local held = values[i]
  if held == nil then held = redis.pcall('GET', KEYS[i]) end
  if held == (ARGV[i] or ARGV[1]) then
    ours[#ours + 1], values[i] = KEYS[i], 1
  else
    values[i] = held and 0 or -1
  end
end
if ours[1] then redis.call('DEL', unpack(ours)) end
if #ours == #KEYS then return 1 end
return ARGV[2] and values or math.max(unpack(values))
