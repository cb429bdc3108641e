-- The queue of clients that wait for a permit is in the last key. It has a line of 31 bytes for each client: 16 characters,
-- and the ms of the node's clock until which the client waits. The line of the client that was served last is the last
-- one. A client that waits no longer keeps its place for 10 s.
local last = #KEYS
if last == 0 then return 0 end
local time
local function now()
  time = time or redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function line(client, till) return string.format('%s %013.0f\n', client, till) end

-- Reads the queue for one client: the lines of others, how many wait ahead of it, and whether any waits.
-- A permit may be free for a client ahead. It then has 100 ms to come, or others go ahead of it.
local function read(text, client, free)
  local queue = {text = text, ahead = 0}
  for i = 1, #text - 30, 31 do
    local name, till = text:sub(i, i + 15), tonumber(text:sub(i + 17, i + 29)) or 0
    if name == client then
      queue.place, queue.till = #queue + 1, till
    else
      local is_waiting = till > now()
      if is_waiting then queue.waits = true end
      if is_waiting and not queue.place then
        queue.ahead = queue.ahead + 1
        if queue.ahead <= free then till = math.min(till, now() + 100) end
      end
      if till > now() - 10000 then queue[#queue + 1] = line(name, till) end
    end
  end
  return queue
end

-- Writes the queue if it has changed. It is advice, so it may fail.
local function write(queue)
  local text = table.concat(queue)
  if text == '' and queue.text ~= '' then
    redis.pcall('DEL', KEYS[last])
  elseif text ~= queue.text then
    redis.pcall('SET', KEYS[last], text, 'PX', 20000)
  end
end

