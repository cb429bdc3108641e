-- Readers that were refused are in a sorted set, each under the name of its client with the end of its wait. Beside
-- them is 'due' if a writer has been let in since. Then it is their turn: until they are in or have withdrawn, and for
-- half a second at most from the first writer that it keeps out.
local function is_turn()
  local ends = redis.pcall('ZSCORE', KEYS[4], 'due')
  if type(ends) ~= 'string' or tonumber(ends) <= now then return false end
  return redis.call('ZRANGE', KEYS[4], '(' .. digits(now), '+inf', 'BYSCORE')[2] ~= nil
end

