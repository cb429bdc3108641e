-- The beginning of an acquisition and an extension: ends the script at the first lock of another holder.
-- KEYS: the locks; the counters of a fenced lock; and the node's marker if it is to be checked.
-- ARGV: token, ttl, and with counters more than one argument besides.
-- A text: another holder's token; 0: a key that is no string.
local locks, gone = ARGV[4] and math.floor(#KEYS / 2) or #KEYS, 0
local first, last = ARGV[4] and locks + 1, 2 * locks
for i = 1, locks do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then return 0 end
  if not held then gone = gone + 1 elseif held ~= ARGV[1] then return held end
end

