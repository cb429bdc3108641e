-- Reads who holds the lock, at the beginning of each script about readers and writers.
--   KEYS  the lock's key, the readers, the intent, the turn; for a fenced lock also the counter
--   ARGV  the owner token, then the arguments of the script that follows
if #KEYS == 0 then return 0 end
local first, last = KEYS[5] and 5, 5
local marker = 'redlock:readers'
local function says(key, text) return redis.pcall('GET', key) == text end
-- Only another program stores a key of another type.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return 0 end

