-- Acquires several independent locks, then releases others.
--   KEYS  the locks to acquire, then the locks to release
--   ARGV  one token for each lock; the number of locks to acquire; their ttl
local locks, taken, ttl = #KEYS, tonumber(ARGV[#KEYS + 1]) or 0, ARGV[#KEYS + 2]
taken = math.max(0, math.min(locks, taken))
local tried = taken
