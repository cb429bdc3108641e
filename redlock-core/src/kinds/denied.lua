-- Tries harmless commands, to find out which ones the user may run.
--   missing  for each command that the user may not run: a space, a '+' and its name
--   other    the first error of another kind, such as a denied key, or false
-- Redis 7.0 words a denial differently from later versions and from Valkey, so two texts are recognised.
local function denied(calls)
  local missing, other = '', false
  for _, call in ipairs(calls) do
    local answer = redis.pcall(unpack(call))
    local why = type(answer) == 'table' and answer.err
    if why and (string.find(why, 'run this command', 1, true)
      or string.find(why, 'permissions to run the', 1, true)) then
      missing = missing .. ' +' .. string.lower(call[1])
    elseif why then
      other = other or answer
    end
  end
  return missing, other
end

