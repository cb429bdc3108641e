-- Puts a reader's entry back beside other readers, never beside another key.
-- ARGV: token, ttl.
-- 1: our entry is there now; 0: another's key.
if held and held ~= marker then return 0 end
-- Old entries beside a key that was lost are of no account.
if not held then redis.call('DEL', KEYS[2]) end
settle(now + ARGV[2])
return 1
