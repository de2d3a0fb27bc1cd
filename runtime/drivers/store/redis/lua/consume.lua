-- Moves the offset of a partition with no step. After place.lua.
-- KEYS 1 head of the partition
-- ARGV 1 epoch, 2 offset consumed so far, 3 offset consumed now
-- Answers {'ok', ''}, {'fenced'}, {'gap', offset} or {'duplicate'}.
local head = redis.call('HMGET', KEYS[1], 'epoch', 'offset')
local problem = misplaced(head, ARGV[1], ARGV[2], ARGV[3])
if problem then return problem end
redis.call('HSET', KEYS[1], 'offset', ARGV[3])
return { 'ok', '' }
