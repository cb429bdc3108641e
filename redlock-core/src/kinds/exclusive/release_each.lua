-- Releases several locks, each with one key and a token of its own.
-- KEYS: the locks. ARGV: the token of each.
-- 1: all are deleted. Otherwise a list with an entry for each: 1 if it is deleted, 0 if it is another holder's, and -1 if
-- it is missing or no string.
if #KEYS == 0 then return 1 end
local held, ours, answers = redis.call('MGET', unpack(KEYS)), {}, {}
for i = 1, #KEYS do
  if held[i] == ARGV[i] then
    ours[#ours + 1], answers[i] = KEYS[i], 1
  else
    answers[i] = held[i] and 0 or -1
  end
end
if #ours > 0 then redis.call('DEL', unpack(ours)) end
if #ours == #KEYS then return 1 end
return answers
