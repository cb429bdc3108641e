-- Makes a client the last one in the queue, and leaves the permits to `release.lua`.
-- KEYS: the permits, and the queue. ARGV: token, the client's name.
local text, client = redis.pcall('GET', KEYS[last]), ARGV[2]:sub(-16)
if type(text) == 'string' then serve(read(text, client, 0), client) end
local KEYS, ARGV = {unpack(KEYS, 1, last - 1)}, {ARGV[1]}
local each, taken, answers, all = false, 0, {}, true
