-- The newest row of a shard with a value of an index.
-- KEYS 1 head of the shard
-- ARGV 1 kind, 2 index, 3 value
-- Answers nothing, or {createdAt and id, the row}.
local tag = string.sub(KEYS[1], 1, -5)
local key = tag .. 'index\0' .. ARGV[1] .. '\0' .. ARGV[2] .. '\0' .. ARGV[3]
local place = redis.call('ZRANGE', key, 0, 0, 'REV')[1]
if not place then return {} end
return { place, redis.call('HGET', tag .. 'rows\0' .. ARGV[1], string.sub(place, 17)) }
