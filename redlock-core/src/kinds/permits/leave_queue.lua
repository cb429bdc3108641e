-- Takes a client out of the queue, or makes it the last one if it was served at other nodes.
-- KEYS: the queue. ARGV: the client's name, and 'served' if it was.
-- 1: done; -1: there is no queue.
local text = redis.pcall('GET', KEYS[last])
if type(text) ~= 'string' then return -1 end
local queue = read(text, ARGV[1]:sub(-16))
if ARGV[2] == 'served' then serve(queue, 0) else write(queue) end
return 1
