-- Calls commands without an effect. Names those that the user may not run, with a space and a '+' before each;
-- and returns the first error of another kind. That the user may not touch the key is such an error. Redis 7.0
-- words a denial differently from later versions and Valkey.
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

