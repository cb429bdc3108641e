-- KEYS: the locks, and then the counters of a fenced lock. ARGV begins with the token, and has a third if there are
-- counters. Ends the script unless all locks are ours.
-- A text: another holder's token; 0: a key that is no string; -1: one is missing.
local locks, gone = ARGV[3] and math.floor(#KEYS / 2) or #KEYS, false
for i = 1, locks do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then return 0 end
  if not held then gone = true elseif held ~= ARGV[1] then return held end
end
if gone then return -1 end

