-- Declares `counted`, but only in a call with counters: declaring a function costs a server as much as a command.
-- KEYS: the counters from `first` to `last`, and after them the node's marker if it is to be checked.
local counted
if first then
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]

  -- Raises the counters to one number, which is `step` above them all and not below `least`. With a window, `least` is
  -- a client's time, and is limited to the window around the node's own clock. A counter's value that is no number, or
  -- too large for a double to count on, counts as missing. A counter that is ahead of the clock does not expire before
  -- the clock has passed it, as the next one would be lower. Numbers are written out in full. No life is shortened, and
  -- without a window a counter that has its number is not set again: a full server refuses that.
  function counted(step, least, ttl, window)
    local count, texts = tonumber(least), {}
    if window then count = math.min(math.max(count, now - window), now + window) end
    for i = first, last do
      local digits = redis.pcall('GET', KEYS[i])
      local stands = type(digits) == 'string' and tonumber(digits)
      local is_valid = stands and stands >= 0 and stands < 9007199254740991
      count = math.max(count, step + (is_valid and stands or 0))
      texts[i] = digits
    end
    local text = string.format('%.0f', count)
    local life = tonumber(ttl) + math.max(0, math.ceil((count - now) / 1000))
    for i = first, last do
      local left = redis.call('PTTL', KEYS[i])
      if window or (count > 0 and texts[i] ~= text) then
        redis.call('SET', KEYS[i], text, 'PX', string.format('%.0f', math.max(life, left)))
      elseif left < life then
        redis.call('PEXPIRE', KEYS[i], string.format('%.0f', life))
      end
    end
    return count
  end

  -- A node that was flushed a moment ago grants no fenced lock: its marker is missing, or is of another wire format, or
  -- its quarantine, whose end in ms comes after the format's number, is not over.
  if KEYS[last + 1] then
    local text = redis.pcall('GET', KEYS[last + 1])
    local ends = type(text) == 'string' and tonumber(string.match(text, '^1 (%d+)'))
    if not ends or ends * 1000 > now then return {err = 'NOMARKER'} end
  end
end

