-- Takes the first free permit if no client waits. A lone process is spared the work on the queue.
-- `acquire_permit.lua` continues after this part, and describes the keys, the arguments and the answers of both.
-- EXISTS takes a third of the time of MGET, so a client that waits first learns by EXISTS if all permits are held.
local all_held = ARGV[6] == 'waits' and redis.pcall('EXISTS', unpack(KEYS)) == #KEYS
-- One MGET takes a tenth of the time of n GETs. It fails for a user who may not run it, so the slower part reads by GET.
local values = not all_held and redis.pcall('MGET', unpack(KEYS))
if values and not values.err and not values[#KEYS] then
  local first
  for i = 1, #KEYS - 1 do
    if values[i] == ARGV[1] then return values[i] end
    first = first or not values[i] and i
  end
  -- MGET shows a key of another type as missing. SET NX refuses such a key.
  if first and redis.call('SET', KEYS[first], ARGV[1], 'NX', 'PX', ARGV[2]) then return first end
end
