-- The client's time, limited to a window around the node's own clock.
local function clamped(hint, window, now)
  return math.min(math.max(tonumber(hint), now - window), now + window)
end

-- A node that was flushed a moment ago grants no fenced lock: its marker is missing, or its quarantine, whose
-- end in ms is the marker's first number, is not over.
local function is_quarantined(marker, now)
  local text = redis.pcall('GET', marker)
  local ends = type(text) == 'string' and tonumber(string.match(text, '^%d+'))
  return not ends or ends * 1000 > now
end

