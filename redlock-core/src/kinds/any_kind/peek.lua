-- KEYS: those of a lock.
-- The place, from 0, of the first key that exists, its remaining ms (-1: it never expires) and its value, with a
-- space between; nil: no key exists; WRONGTYPE: that key is no string.
for i = 1, #KEYS do
  local value = redis.pcall('GET', KEYS[i])
  if type(value) == 'table' then return value end
  if value then
    return string.format('%.0f %.0f ', i - 1, redis.call('PTTL', KEYS[i])) .. value
  end
end
return false
