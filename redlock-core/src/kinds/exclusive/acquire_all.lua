-- Takes all of several locks, or leaves all. Raises their counters to one number, at least two above each of them.
--   ARGV  token, ttl; with counters also: hint, the counters' ttl, the hint's window
-- Returns 1 for a grant. With counters, returns their number after the grant, and the highest one before it. Returns a
-- holder's token for a refusal.
if gone < locks then return ARGV[1] end
local count, before
if counted then count, before = counted(2, ARGV[3], ARGV[4], ARGV[5]) end
for i = 1, locks do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return count and {count, before} or 1
