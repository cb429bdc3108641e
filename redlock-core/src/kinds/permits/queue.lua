-- Reads and writes the queue of the clients that wait for a permit, which is in the last key.
-- A client has a line of 36 bytes: 16 characters of its name, the ms for which it may be called, and the ms of the node's
-- clock until which it waits. The client that was served last has the last line. A client that no longer waits keeps its
-- place for 10 s.
local last = #KEYS
if last == 0 then return 0 end
local time
local function now()
  time = time or redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Reads the queue for one client: its own line and place, the lines of others, and the number of those that wait ahead.
-- A permit may be free for the clients ahead. Then all of them are called, because some may have died: each has the time
-- of its call to come, or others go ahead of it.
local function read(text, client, is_free)
  local queue = {text = type(text) == 'string' and text or '', ahead = 0}
  for i = 1, #queue.text, 36 do
    local name, call, till = queue.text:sub(i, i + 35):match('^(................) (%d%d%d%d) (%d+)\n$')
    local line = name and {name = name, call = tonumber(call), till = tonumber(till)}
    if name == client then
      queue.own, queue.place = line, #queue + 1
    elseif name and line.till > now() - 10000 then
      if line.till > now() and not queue.own then
        queue.ahead = queue.ahead + 1
        if is_free then line.till = math.min(line.till, now() + line.call) end
      end
      queue[#queue + 1] = line
    end
  end
  return queue
end

-- Writes the queue if it has changed. It is advice, so the write may fail. A text of 557 bytes is the beginning of a longer
-- one (`brief.lua`), which stays as it is.
local function write(queue)
  for i, it in ipairs(queue) do queue[i] = string.format('%s %04d %013.0f\n', it.name, it.call, it.till) end
  local text = table.concat(queue)
  if text == queue.text or #queue.text == 557 then return end
  if text == '' then
    redis.pcall('DEL', KEYS[last])
  else
    redis.pcall('SET', KEYS[last], text, 'PX', 20000)
  end
end

-- Makes a client with a line the last one, as one that no longer waits. It needs no line if no other has one.
-- The calls of those that were after it end, because it came in time: they wait for `advice` ms again.
local function serve(queue, advice)
  for i = queue.place or #queue + 1, #queue do
    local line = queue[i]
    if line.till > now() then line.till = math.max(line.till, now() + advice) end
  end
  if #queue > 0 and queue.own then
    queue.own.till = math.min(queue.own.till, now())
    table.insert(queue, queue.own)
  end
  write(queue)
end
