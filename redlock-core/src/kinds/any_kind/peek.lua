-- Reports the first key of a lock that exists.
--   KEYS  the lock's keys
-- Returns one text with three parts, a space between them: the key's place, counted from 0; its remaining ms, or -1 if
-- it never expires; and its value. Returns nil if no key exists, and the error WRONGTYPE if the key is not a string.
for i = 1, #KEYS do
  local value = redis.pcall('GET', KEYS[i])
  if type(value) == 'table' then return value end
  if value then
    return string.format('%.0f %.0f ', i - 1, redis.call('PTTL', KEYS[i])) .. value
  end
end
return false
