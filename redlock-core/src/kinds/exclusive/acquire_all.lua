-- Takes all of several locks, or leaves all. Raises their counters to one number, at least two above each of them.
--   ARGV  token, ttl; with counters also: hint, the counters' ttl, the hint's window
-- Returns 1 for a grant, or with counters the answer of `counted`. Returns a holder's token for a refusal.
if gone < locks then return ARGV[1] end
local _, answer
if counted then _, answer = counted(2, ARGV[3], ARGV[4], ARGV[5]) end
for i = 1, locks do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return answer or 1
