-- Reads and writes the queue of the clients that wait for a permit. The last key holds the queue.
-- Each client has an entry of 36 bytes: 16 characters of its name, the time of its call in ms, and the end of its wait in ms
-- of the node's clock. The client that arrived or was served last has the last entry. A client that stopped waiting keeps
-- its place for 10 s.
local last = #KEYS
if last == 0 then return 0 end
local time
local function now()
  time = time or redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Reads the queue for one client: its entry and place, and the entries of others. Counts the clients that wait ahead.
-- With `is_free`, a permit is free for the clients ahead, but some of them may have died. So the script calls all of them:
-- the wait of a client that does not ask within the time of its call ends, and others pass it.
local function read(text, client, is_free)
  local queue = {text = type(text) == 'string' and text or '', ahead = 0}
  for i = 1, #queue.text, 36 do
    local name, call, till = queue.text:sub(i, i + 35):match('^(................) (%d%d%d%d) (%d+)\n$')
    local entry = name and {name = name, call = tonumber(call), till = tonumber(till)}
    if name == client then
      queue.own, queue.place = entry, #queue + 1
    elseif name and entry.till > now() - 10000 then
      if entry.till > now() and not queue.own then
        queue.ahead = queue.ahead + 1
        if is_free then entry.till = math.min(entry.till, now() + entry.call) end
      end
      queue[#queue + 1] = entry
    end
  end
  return queue
end

-- Writes the queue if it changed. The write may fail, because the queue is advice. A text of 557 bytes is the beginning of
-- a longer queue (`brief.lua`), so the queue stays unchanged.
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

-- Moves the client's entry to the end and ends the client's wait. Removes the entry if no other client has one.
-- The clients after it wait for `advice` ms again: their calls end, because the permit is taken.
local function serve(queue, advice)
  for i = queue.place or #queue + 1, #queue do
    local entry = queue[i]
    if entry.till > now() then entry.till = math.max(entry.till, now() + advice) end
  end
  if #queue > 0 and queue.own then
    queue.own.till = math.min(queue.own.till, now())
    table.insert(queue, queue.own)
  end
  write(queue)
end
