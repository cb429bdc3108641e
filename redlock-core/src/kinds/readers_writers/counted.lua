-- The number to which the counter is raised, if there is one: `step` above it, and not below the hint.
local function counted(step, hint, window, ttl)
  if #KEYS < 5 then return 1 end
  local count = math.max(clamped(hint, window, micros), stands(KEYS[5]) + step)
  redis.call('SET', KEYS[5], digits(count), 'PX', kept_for(count, ttl, micros))
  return count
end

if #KEYS > 5 and is_quarantined(KEYS[6], micros) then return {err = 'NOMARKER'} end

