-- KEYS: those of runs.
-- The remaining ms of the run record that expires first, a space, and the record; nil: a key is missing, never
-- expires, or is no string.
local least, record
for i = 1, #KEYS do
  local value, left = redis.pcall('GET', KEYS[i]), redis.call('PTTL', KEYS[i])
  if type(value) ~= 'string' or left < 0 then return false end
  if not least or left < least then least, record = left, value end
end
return string.format('%.0f ', least) .. record
