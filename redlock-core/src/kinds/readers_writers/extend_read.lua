-- Lets a reader's entry live for at least the ttl, and raises the counter to at least the number. Makes an entry only
-- if it is put back, and never beside another key.
-- ARGV: token, ttl, with a counter number and the counter's ttl, and last 'back' if the entry is put back.
-- 1: extended; a text: another holder's token; 0: no string; -1: gone.
if held and held ~= marker then return held end
if ARGV[#ARGV] == 'back' then
  -- Old entries beside a key that was lost are of no account.
  if not held then redis.call('DEL', KEYS[2]) end
else
  -- Entries count only beside the readers' marker.
  local ends = held and redis.call('ZSCORE', KEYS[2], ARGV[1])
  if not ends or tonumber(ends) <= now then return -1 end
end
settle(now + ARGV[2])
if counted then counted(0, ARGV[3], ARGV[4]) end
return 1
