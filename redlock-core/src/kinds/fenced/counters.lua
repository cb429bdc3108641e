-- Declares `counted` in a call with counters, and `refusal`, the answer without a valid marker. Other calls skip this,
-- because it costs as much as a command.
--   KEYS  the counters from `first` to `last`; then the node's marker if it is to be checked
local counted, refusal
if first then
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]

  -- Raises all counters to one number. Returns it, and the answer to a client that uses the numbers from the highest one
  -- before to this one: the number before if this one is `least`, otherwise a list of both numbers. A list takes a server
  -- longer than two commands, because Redis learns its length late. 0 and 1 have other meanings, so they come in a list.
  --   step    the number is at least this much above each counter
  --   least   the number is at least this; with a window, a client's time in µs
  --   ttl     the least time in ms for which the counters live
  --   window  `least` is limited to this distance in µs before and after the node's own clock
  -- A counter counts as missing if its value is not a number, or too large for a double to count on. A counter ahead of
  -- the clock lives until the clock has passed it, because the next number would be lower otherwise. No life is
  -- shortened. An acquisition keeps a counter's expiry if three things hold, which spares a PTTL and half of the SET: the
  -- usual ttl suffices, the new number is not ahead of the clock by more than the window, and the old number belongs to
  -- the same period of ten minutes. Ten minutes of the ttl are for that. Numbers are written out in full, which takes as
  -- long as a command, so `least` and `ttl` are passed on as they are. Without a window, a counter that has the number
  -- already is left alone, because a full server refuses a SET.
  function counted(step, least, ttl, window)
    local asked, life = tonumber(least), tonumber(ttl)
    local count, before, found = asked, 0, {}
    local latest
    if window then
      latest = now + window
      if count > latest then count = latest elseif count < now - window then count = now - window end
    end
    for i = first, last do
      local digits = redis.pcall('GET', KEYS[i])
      local stands = type(digits) == 'string' and tonumber(digits)
      if not (stands and stands >= 0 and stands < 9007199254740991) then stands = 0 end
      if stands > before then before = stands end
      found[i] = stands
    end
    if count < before + step then count = before + step end
    local text = count == asked and least or string.format('%.0f', count)
    local period, lasts = count - count % 600000000, ttl
    local keeps = latest and life <= 4200000 and count <= latest
    if count > now then
      life = life + math.ceil((count - now) / 1000)
      lasts = nil
    end
    for i = first, last do
      if keeps and found[i] > 0 and found[i] >= period then
        redis.call('SET', KEYS[i], text, 'KEEPTTL')
      else
        local left = redis.call('PTTL', KEYS[i])
        lasts = lasts or string.format('%.0f', life)
        if window or (count > 0 and found[i] ~= count) then
          redis.call('SET', KEYS[i], text, 'PX', left > life and string.format('%.0f', left) or lasts)
        elseif left < life then
          redis.call('PEXPIRE', KEYS[i], lasts)
        end
      end
    end
    return count, count == asked and before > 1 and before or {count, before}
  end

  -- Refuse without a valid marker, because a node that lost its data may just have come back. The marker is the number
  -- of this wire format, and then the end of the node's quarantine in ms. It is valid after that end.
  if KEYS[last + 1] then
    local text = redis.pcall('GET', KEYS[last + 1])
    local ends = type(text) == 'string' and tonumber(string.match(text, '^1 (%d+)'))
    if not ends or ends * 1000 > now then refusal = {err = 'NOMARKER'} end
  end
end

