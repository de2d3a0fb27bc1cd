-- Forgets events that are older than a time, a stretch of them.
-- KEYS 1 head of the log
-- ARGV 1 time, epoch ms, 2 most
-- Answers how many were forgotten.
local tag = string.sub(KEYS[1], 1, -5)
local positions = redis.call('ZRANGE', tag .. 'at', '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
for _, position in ipairs(positions) do
  local place = position .. '-0'
  local entry = redis.call('XRANGE', tag .. 'events', place, place)[1]
  if entry then
    local event = {}
    for at = 1, #entry[2], 2 do event[entry[2][at]] = entry[2][at + 1] end
    redis.call('XDEL', tag .. 'events', place)
    redis.call('HDEL', tag .. 'ids', event.i)
    redis.call('ZREM', tag .. 'account\0' .. event.a, position)
  end
  redis.call('ZREM', tag .. 'at', position)
end
if tonumber(ARGV[1]) > tonumber(redis.call('HGET', KEYS[1], 'swept') or '0') then
  redis.call('HSET', KEYS[1], 'swept', ARGV[1])
end
return #positions
