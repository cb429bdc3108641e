-- Takes the first free permit, if more permits are free than clients wait ahead.
--   KEYS  the permits, in the order in which the script tries them; the queue
--   ARGV  token, ttl, advice, the client's name, the time of its call in ms; 'streak' to retake, ahead of all clients,
--         a permit that the client just released
-- Returns the taken key's index, from 1, or -1 if the free permits are for others; else a holder's token, which is ours if
-- we have a permit here already, or 0 if no key is a string. A refused client waits in the queue for `advice` ms.
local advice, call, in_streak = ARGV[3] + 0, ARGV[5] + 0, ARGV[6] == 'streak'
local holder, free = 0, {}
local function value(i)
  if values.err then return redis.pcall('GET', KEYS[i]) end
  return values[i]
end
for i = 1, last - 1 do
  local held = value(i)
  if held == ARGV[1] then return held end
  if not held then free[#free + 1] = i end
  if holder == 0 and type(held) == 'string' then holder = held end
end
local client = ARGV[4]:sub(-16)
local queue = read(value(last), client, #free > 0 and not in_streak)
local ahead = in_streak and 0 or queue.ahead
if #free > ahead then
  for _, i in ipairs(free) do
    if redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2]) then
      serve(queue, advice)
      return i
    end
  end
end
if advice > 0 then queue.own = {name = client, call = call, till = now() + advice} end
if queue.own then table.insert(queue, queue.place or #queue + 1, queue.own) end
write(queue)
return #free > 0 and #free <= ahead and -1 or holder
