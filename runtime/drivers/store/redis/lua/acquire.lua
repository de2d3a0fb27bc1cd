-- Takes over one partition.
-- KEYS 1 head of the partition
-- Answers {epoch, counter, offset}.
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
local head = redis.call('HMGET', KEYS[1], 'counter', 'offset')
return { tostring(epoch), head[1] or '0', head[2] or '-1' }
