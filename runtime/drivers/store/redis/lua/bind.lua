-- Binds the data to a number of partitions and to a command log, and checks both.
-- KEYS 1 facts (hash: layout, partitions, log)
-- ARGV 1 number of partitions, 2 identity of the log or empty
-- Answers {'ok'}, {'partitions', stored} or {'log', stored}; only ok has written anything.
local stored = redis.call('HMGET', KEYS[1], 'partitions', 'log')
if stored[1] and stored[1] ~= ARGV[1] then return { 'partitions', stored[1] } end
if stored[2] and ARGV[2] ~= '' and stored[2] ~= ARGV[2] then return { 'log', stored[2] } end
if not stored[1] then redis.call('HSET', KEYS[1], 'partitions', ARGV[1]) end
if not stored[2] and ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'log', ARGV[2]) end
return { 'ok' }
