-- Takes the first free permit, if more permits are free than clients wait ahead.
--   KEYS  the permits, in the order in which the script tries them; the queue
--   ARGV  token, ttl, advice, the client's name, the time of its call in ms; 'streak' to retake, ahead of all clients,
--         a permit that the client just released; 'waits' if the nodes refused the client before
-- Returns the taken key's index, from 1, or -1 if the free permits are for others; else a holder's token, which is ours if
-- we have a permit here already, or 0 if no key is a string. A refused client waits in the queue for `advice` ms.
local advice, call, in_streak = ARGV[3] + 0, ARGV[5] + 0, ARGV[6] == 'streak'
local client = ARGV[4]:sub(-16)
local entry = advice > 0 and string.format('%s %04d %013.0f\n', client, call, now + advice)
-- While all permits are held, a client that waits renews only its own entry, because reading all entries takes long. It
-- renews the entry once a third of the wait is over, because replicas get each write. The next attempt comes within the
-- rest of the wait, which is two retry delays by default.
-- A grant ends the client's wait, so an attempt with a permit here goes on, and finds its own token.
if all_held and entry then
  local text, holder = redis.pcall('GET', KEYS[last]), redis.pcall('GET', KEYS[1])
  local at = type(text) == 'string' and text:find(client .. ' ', 1, true)
  local ends = at and at % 36 == 1 and till(text, at) or 0
  if ends > now and type(holder) == 'string' then
    if 3 * (ends - now) < 2 * advice then write(text, text:sub(1, at - 1) .. entry .. text:sub(at + 36)) end
    return holder
  end
end
local holder, free = 0, {}
values = values or redis.pcall('MGET', unpack(KEYS))
if values.err then
  for i, key in ipairs(KEYS) do values[i] = redis.pcall('GET', key) end
end
for i = 1, last - 1 do
  local held = values[i]
  if held == ARGV[1] then return held end
  if not held then free[#free + 1] = i end
  if holder == 0 and type(held) == 'string' then holder = held end
end
local text = type(values[last]) == 'string' and values[last] or ''
local queue = read(text, client, #free > 0 and not in_streak)
local ahead = in_streak and 0 or queue.ahead
if #free > ahead then
  for _, i in ipairs(free) do
    if redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2]) then
      serve(queue, advice)
      return i
    end
  end
end
entry = entry or queue.own
if entry then table.insert(queue, queue.place or #queue + 1, entry) end
write(text, table.concat(queue))
return #free > 0 and #free <= ahead and -1 or holder
