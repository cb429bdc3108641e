-- The number to which the counter is raised: `step` above it, and not below the hint.
function counted(step, hint, window, ttl)
  local count = math.max(clamped(hint, window, micros), stands(KEYS[5]) + step)
  redis.call('SET', KEYS[5], digits(count), 'PX', kept_for(count, ttl, micros))
  return count
end

if #KEYS > 5 and is_quarantined(KEYS[6], micros) then return {err = 'NOMARKER'} end
