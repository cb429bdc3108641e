-- Takes several locks, all or none, and raises their fencing counters to one number, which is two above them
-- all, and not below the hint.
-- KEYS: the locks, their counters, and the node's marker if it is to be checked.
-- ARGV: token, ttl, hint, window, the counters' ttl. The hint and the window are in µs.
-- The number: taken; a text: another holder's token; 0: a key that is no string; NOMARKER: the node has
-- forgotten locks.
local locks = math.floor(#KEYS / 2)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if #KEYS > 2 * locks and is_quarantined(KEYS[#KEYS], now) then return {err = 'NOMARKER'} end
for i = 1, locks do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then return 0 end
  if held then return held end
end
local count = clamped(ARGV[3], ARGV[4], now)
for i = locks + 1, 2 * locks do count = math.max(count, stands(KEYS[i]) + 2) end
for i = 1, locks do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
local digits, life = string.format('%.0f', count), kept_for(count, ARGV[5], now)
for i = locks + 1, 2 * locks do redis.call('SET', KEYS[i], digits, 'PX', life) end
return count
