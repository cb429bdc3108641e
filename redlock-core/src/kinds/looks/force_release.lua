-- Takes the lock from holders, by their tokens. Deletes no other's key, so that a call that arrives late takes
-- nothing from later holders.
-- KEYS: all keys of a lock. ARGV: the tokens that lose theirs.
-- Who is on the keys afterwards, a line each: 'h' and a holder's token, 'w' and the id of a waiting writer.
local lost, left, live = {}, {}, 0
for _, token in ipairs(ARGV) do lost[token] = true end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
for _, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then
    local readers = redis.pcall('ZRANGE', key, '-inf', '+inf', 'BYSCORE')
    if readers.err and not string.find(readers.err, 'WRONGTYPE', 1, true) then return readers end
    for _, reader in ipairs(readers) do
      if lost[reader] then redis.call('ZREM', key, reader) end
    end
    readers = redis.pcall('ZRANGE', key, '(' .. now, '+inf', 'BYSCORE')
    for _, reader in ipairs(readers) do left[#left + 1] = 'h' .. reader end
    live = live + #readers
  elseif value and lost[value] then
    redis.call('DEL', key)
  elseif value and string.find(key, 'redlock:intent:', 1, true) then
    left[#left + 1] = 'w' .. value
  elseif value and value ~= 'redlock:readers' then
    left[#left + 1] = 'h' .. value
  end
end
for _, key in ipairs(live == 0 and KEYS or {}) do
  if redis.pcall('GET', key) == 'redlock:readers' then redis.call('DEL', key) end
end
table.sort(left)
return table.concat(left, '\n')
