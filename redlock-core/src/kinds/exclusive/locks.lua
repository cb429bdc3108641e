-- Counts the locks that are missing, for an acquisition or an extension. Ends the script at another holder's lock.
--   KEYS  the locks; for a fenced lock their counters; then the node's marker if it is to be checked
--   ARGV  token, ttl; with counters at least two more arguments
-- Returns another holder's token, or 0 if a key is not a string.
local locks, gone = ARGV[4] and math.floor(#KEYS / 2) or #KEYS, 0
local first, last = ARGV[4] and locks + 1, 2 * locks
for i = 1, locks do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then return 0 end
  if not held then gone = gone + 1 elseif held ~= ARGV[1] then return held end
end

