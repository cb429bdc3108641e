-- Deletes a reader's entry or a writer's key, and what the caller left when it was refused.
-- KEYS: the lock's key and the readers; for a writer that waited the intent too; and for a reader that gives up the turn.
-- ARGV: token, and with more than two keys the client's name.
-- 1: deleted; 0: another's; -1: nothing there.
if #KEYS > 3 then
  redis.pcall('ZREM', KEYS[4], ARGV[2])
elseif #KEYS > 2 and says(KEYS[3], ARGV[2]) then
  redis.call('DEL', KEYS[3])
end
if held == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 1
end
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return held and 0 or -1 end
if held ~= marker then return 1 end
-- The last reader deletes the key. The others shorten it, for which they need the time.
if redis.call('PTTL', KEYS[2]) == -2 then
  redis.call('DEL', KEYS[1])
  return 1
end

