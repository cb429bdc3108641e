-- Removes a client from the queue, or moves it to the end if other nodes served it.
--   ARGV  the client's name; 'served' to move the client
-- Returns 1, or -1 without a queue.
local text = redis.pcall('GET', KEYS[last])
if type(text) ~= 'string' then return -1 end
local queue = read(text, ARGV[1]:sub(-16))
if ARGV[2] == 'served' then serve(queue, 0) else write(text, table.concat(queue)) end
return 1
