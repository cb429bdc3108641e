-- Deletes a reader's entry or a writer's key, and the writer's intent.
-- KEYS: without advice the lock's key and the readers only.
-- ARGV: token, the id of a waiting writer or an empty text, the readers' turn in ms.
-- 1: deleted; 0: another's; -1: nothing there.
if ARGV[2] ~= '' and says(KEYS[3], ARGV[2]) then redis.call('DEL', KEYS[3]) end
if held == ARGV[1] then
  redis.call('DEL', KEYS[1])
  -- A writer gives the readers that were refused their turn. A server that cannot write this advice goes on
  -- without.
  if ARGV[3] ~= '0' and says(KEYS[4], 'waiting') then
    redis.pcall('SET', KEYS[4], 'turn', 'PX', ARGV[3])
  end
  return 1
end
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return held and 0 or -1 end
if held ~= marker then return 1 end
-- The last reader deletes the key. The others shorten it, for which they need the time.
if redis.call('PTTL', KEYS[2]) == -2 then
  redis.call('DEL', KEYS[1])
  return 1
end

