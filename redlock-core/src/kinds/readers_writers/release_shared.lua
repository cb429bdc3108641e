-- Deletes a reader's entry or a writer's key, and the caller's mark of a refusal.
--   KEYS  the lock's key, the readers; then the intent for a writer that waited; then the turn for a reader that gives up
--   ARGV  token; with more than two keys also the client's name
-- Returns 1 if something is deleted, 0 if another holder has the key, and -1 if nothing is there.
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
-- The last reader deletes the key. Other readers shorten the key's life, for which the script needs the time.
if redis.call('PTTL', KEYS[2]) == -2 then
  redis.call('DEL', KEYS[1])
  return 1
end

