-- Positions up to this one are used: a log that was rolled back goes on after it. Its gap means nothing.
-- KEYS 1 head of the log
-- ARGV 1 position
-- Answers {'ok'}.
local last = tonumber(redis.call('HGET', KEYS[1], 'last') or '0')
if last < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'last', ARGV[1]) end
return { 'ok' }
