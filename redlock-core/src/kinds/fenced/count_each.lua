-- Raises the counter of each lock that was acquired. Without a valid marker, refuses each lock.
-- The answer for an acquired lock is that of `counted`. A lock whose counter fails is released again, and its answer is
-- the error.
for i = 1, taken do
  if refusal then
    answers[i] = refusal
  elseif answers[i] == nil then
    first, last = locks + i, locks + i
    local done, count, answer = pcall(counted, 2, ARGV[locks + i], ARGV[#ARGV - 3], ARGV[#ARGV - 2])
    if done then
      answers[i] = answer
    else
      redis.pcall('DEL', KEYS[i])
      answers[i] = type(count) == 'table' and count or {err = 'ERR ' .. count}
    end
  end
  all = false
end
