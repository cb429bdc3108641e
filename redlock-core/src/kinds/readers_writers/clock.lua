-- The node's time in ms. Lua's numbers are doubles, so `digits` writes them out in full.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function digits(number) return string.format('%.0f', number) end

