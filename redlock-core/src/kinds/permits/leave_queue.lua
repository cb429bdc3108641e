-- Takes a client out of the queue. KEYS: the queue. ARGV: the client's name.
-- 1: done; -1: no client was there.
local text = redis.pcall('GET', KEYS[last])
if type(text) ~= 'string' then return -1 end
local queue = read(text, ARGV[1]:sub(-16), 0)
write(queue.waits and queue or {text = text})
return 1
