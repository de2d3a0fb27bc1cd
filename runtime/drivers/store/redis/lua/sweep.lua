-- Forgets causes and ended actors of a partition that are older than a time, a stretch of each.
-- KEYS 1 head of the partition
-- ARGV 1 time, epoch ms, 2 most of each
-- Answers how many were forgotten of that which had most.
local tag = string.sub(KEYS[1], 1, -5)
local function oldest(key)
  return redis.call('ZRANGE', key, '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
end
local causes, ended = oldest(tag .. 'causes-at'), oldest(tag .. 'ended')
for _, cause in ipairs(causes) do
  redis.call('HDEL', tag .. 'causes', cause)
  redis.call('ZREM', tag .. 'causes-at', cause)
end
for _, actor in ipairs(ended) do redis.call('ZREM', tag .. 'ended', actor) end
return math.max(#causes, #ended)
