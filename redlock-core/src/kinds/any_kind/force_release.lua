-- Takes the lock away from the holders with the given tokens. A key with any other token stays, so a call that arrives
-- late cannot harm later holders.
--   KEYS  the lock's keys that say who holds it
--   ARGV  the tokens of the holders who lose it
-- Returns the tokens of the remaining holders, one on each line.
local lost, left = {}, {}
for _, token in ipairs(ARGV) do lost[token] = true end
for _, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then
    for _, reader in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      if lost[reader] then redis.call('ZREM', key, reader) else left[#left + 1] = reader end
    end
  elseif value and lost[value] then
    redis.call('DEL', key)
  elseif value and value ~= 'redlock:readers' then
    left[#left + 1] = value
  end
end
-- Once all readers are gone, delete the readers' marker too.
for _, key in ipairs(#left == 0 and KEYS or {}) do
  if redis.pcall('GET', key) == 'redlock:readers' then redis.call('DEL', key) end
end
table.sort(left)
return table.concat(left, '\n')
