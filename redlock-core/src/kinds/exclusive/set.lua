-- Does what the command `SET … NX GET PX …` does.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.pcall('GET', KEYS[1])
