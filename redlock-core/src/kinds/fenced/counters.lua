-- The number of a fencing counter. A value that is no number, or too large for a double to count on, counts
-- as missing.
local function stands(key)
  local digits = redis.pcall('GET', key)
  local n = type(digits) == 'string' and tonumber(digits)
  if n and n >= 0 and n < 9007199254740991 then return n end
  return 0
end

-- The time for which a counter is kept. A counter that is ahead of the clock does not expire before the clock
-- has passed it, as the next one would be lower. Numbers are written out in full, as Lua's numbers are doubles.
local function kept_for(count, ttl, now)
  return string.format('%.0f', tonumber(ttl) + math.max(0, math.ceil((count - now) / 1000)))
end

