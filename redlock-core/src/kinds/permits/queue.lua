-- Reads and writes the queue of the clients that wait for a permit. The last key holds the queue.
-- Each client has an entry of 36 bytes: 16 characters of its name, the time of its call in ms, and the end of its wait in ms
-- of the node's clock. The client that arrived or was served last has the last entry. A client that stopped waiting keeps
-- its place for 10 s.
local last = #KEYS
if last == 0 then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Returns the end of the wait in the entry at byte `i`, or 0 if no entry is there or its client lost its place.
local function till(text, i)
  local ends = tonumber(text:match('^................ %d%d%d%d (%d%d%d%d%d%d%d%d%d%d%d%d%d)\n', i) or 0)
  return ends > now - 10000 and ends or 0
end

-- Returns the entry with another end of its wait.
local function lasting(entry, ends) return string.format('%s%013.0f\n', entry:sub(1, 22), ends) end

-- Reads the queue for one client: its entry and place, and the entries of others. Counts the clients that wait ahead.
-- With `is_free`, a permit is free for the clients ahead, but some of them may have died. So the script calls all of them:
-- the wait of a client that does not ask within the time of its call ends, and others pass it.
local function read(text, client, is_free)
  local queue = {text = text, ahead = 0}
  for i = 1, #text, 36 do
    local entry, ends = text:sub(i, i + 35), till(text, i)
    if ends > 0 and entry:sub(1, 16) == client then
      queue.own, queue.place = entry, #queue + 1
    elseif ends > 0 then
      if ends > now and not queue.own then
        queue.ahead = queue.ahead + 1
        local called = now + entry:sub(18, 21)
        if is_free and ends > called then entry = lasting(entry, called) end
      end
      queue[#queue + 1] = entry
    end
  end
  return queue
end

-- Writes the queue if it changed. The write may fail, because the queue is advice. A text of 557 bytes is the beginning of
-- a longer queue (`brief.lua`), so the queue stays unchanged.
local function write(old, text)
  if text == old or #old == 557 then return end
  if text == '' then
    redis.pcall('DEL', KEYS[last])
  else
    redis.pcall('SET', KEYS[last], text, 'PX', 20000)
  end
end

-- Moves the client's entry to the end and ends the client's wait. Removes the entry if no other client has one.
-- The clients after it that still wait do so for `advice` ms again: their calls end, because the permit is taken.
local function serve(queue, advice)
  for i = queue.place or #queue + 1, #queue do
    local ends = till(queue[i], 1)
    if ends > now and ends < now + advice then queue[i] = lasting(queue[i], now + advice) end
  end
  if #queue > 0 and queue.own then
    queue[#queue + 1] = lasting(queue.own, math.min(till(queue.own, 1), now))
  end
  write(queue.text, table.concat(queue))
end
