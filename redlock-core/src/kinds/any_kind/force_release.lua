-- Takes the lock from holders, by their tokens. Deletes no other's key, so that a call that arrives late takes
-- nothing from later holders.
-- KEYS: the keys of a lock that say who has it. ARGV: the tokens of those who lose it.
-- The tokens of those who have it afterwards, a line each.
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
-- The marker of readers that are all gone.
for _, key in ipairs(#left == 0 and KEYS or {}) do
  if redis.pcall('GET', key) == 'redlock:readers' then redis.call('DEL', key) end
end
table.sort(left)
return table.concat(left, '\n')
