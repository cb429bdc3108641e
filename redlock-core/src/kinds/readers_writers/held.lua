-- KEYS are the lock's key, the readers, the intent and the turn, and for a fenced lock the counter. ARGV begins with
-- the owner token.
if #KEYS == 0 then return 0 end
local first, last = KEYS[5] and 5, 5
local marker = 'redlock:readers'
local function says(key, text) return redis.pcall('GET', key) == text end
-- A key that is no string is another's.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return 0 end

