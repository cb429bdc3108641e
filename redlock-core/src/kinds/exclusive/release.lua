-- Deletes the keys that are ours.
-- KEYS: the locks. ARGV: token.
-- 1: there were some; 0: another holder's; -1: none exists.
local answer = -1
for i = 1, #KEYS do
  local held = redis.pcall('GET', KEYS[i])
  if held == ARGV[1] then
    redis.call('DEL', KEYS[i])
    answer = 1
  elseif held and answer < 0 then
    answer = 0
  end
end
return answer
