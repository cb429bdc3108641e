-- Extends a reader's entry to at least the ttl. Raises the counter to at least the number. Restores a missing entry
-- only with 'back', and never next to another holder's key.
--   ARGV  token, ttl; with a counter also: the number, the counter's ttl; last 'back' to restore the entry
-- Returns 1 if the entry is extended, another holder's token, 0 for a key that is not a string, or -1 without an entry.
if held and held ~= marker then return held end
if ARGV[#ARGV] == 'back' then
  -- The key was lost, so its old entries are void.
  if not held then redis.call('DEL', KEYS[2]) end
else
  -- Entries count only next to the readers' marker.
  local ends = held and redis.call('ZSCORE', KEYS[2], ARGV[1])
  if not ends or tonumber(ends) <= now then return -1 end
end
settle(now + ARGV[2])
if counted then counted(0, ARGV[3], ARGV[4]) end
return 1
