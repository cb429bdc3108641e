-- Takes several locks, all or none, and raises their counters to one number, two above them all.
-- ARGV: token, ttl, and with counters hint, the counters' ttl and the hint's window.
-- The counters' number, or 1 without counters: taken; a text: the token of a holder.
if gone < locks then return ARGV[1] end
local count = counted and counted(2, ARGV[3], ARGV[4], ARGV[5]) or 1
for i = 1, locks do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return count
