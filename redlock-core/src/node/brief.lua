-- Makes the script after it read at most the first 557 bytes of each value, because every token is shorter. Falls back
-- to GET for a user who may not run GETRANGE.
local server = redis
local redis = {call = server.call}
local function beginning(key)
  local text = server.pcall('GETRANGE', key, 0, 556)
  if text.err then text = server.pcall('GET', key) end
  if text == '' and server.call('PTTL', key) == -2 then return false end
  return type(text) == 'string' and text:sub(1, 557) or text
end
function redis.pcall(word, ...)
  if word == 'GET' then return beginning(...) end
  if word ~= 'MGET' then return server.pcall(word, ...) end
  local texts = {}
  for i, key in ipairs({...}) do
    texts[i] = beginning(key)
    if type(texts[i]) == 'table' then
      if not texts[i].err:find('WRONGTYPE', 1, true) then return texts[i] end
      texts[i] = false
    end
  end
  return texts
end
