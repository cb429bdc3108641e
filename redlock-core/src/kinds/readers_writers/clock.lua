-- The node's time in ms. Numbers are written out in full, as Lua's numbers are doubles.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function digits(number) return string.format('%.0f', number) end

