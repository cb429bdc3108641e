-- True if it is the turn of refused readers. They are in a sorted set, each with the name of its client and the end of
-- its wait. It is their turn if the set also contains 'due', because a holder refused them or a writer got in after
-- that. The turn lasts until they are in or have withdrawn, but at most half a second from the first writer that it
-- keeps out.
local function is_turn()
  local ends = redis.pcall('ZSCORE', KEYS[4], 'due')
  if type(ends) ~= 'string' or tonumber(ends) <= now then return false end
  return redis.call('ZRANGE', KEYS[4], '(' .. digits(now), '+inf', 'BYSCORE')[2] ~= nil
end

