-- Acquires several independent fenced locks, then releases others.
--   KEYS  the locks to acquire, the locks to release, and the counters of the former; then the node's marker if it is to
--         be checked
--   ARGV  one token for each lock; one hint for each lock to acquire; the counters' ttl, the hint's window, the number of
--         locks to acquire, and their ttl
local taken, ttl = tonumber(ARGV[#ARGV - 1]) or 0, ARGV[#ARGV]
taken = math.max(0, math.min(#KEYS, taken))
local locks = math.max(taken, math.min(#KEYS, #ARGV - 4 - taken))
local first, last = locks + 1, locks + taken
