-- Forgets events, causes and ids of ended actors that are older than a time, a stretch of each.
-- ARGV time (epoch ms), most of each
-- Answers how many were forgotten of that which had most.
local before, limit = take(), take()
local function oldest(key)
  return call('ZRANGE', tag .. key, '-inf', '(' .. before, 'BYSCORE', 'LIMIT', 0, limit)
end
local positions, causes, ended = oldest('event-times'), oldest('causes'), oldest('ended')
for _, position in ipairs(positions) do
  local place = position .. '-0'
  local entry = call('XRANGE', tag .. 'events', place, place)[1]
  if entry then
    local event = {}
    for at = 1, #entry[2], 2 do event[entry[2][at]] = entry[2][at + 1] end
    call('XDEL', tag .. 'events', place)
    call('HDEL', tag .. 'event-ids', event.i)
    call('ZREM', tag .. 'account\0' .. event.a, position)
  end
  call('ZREM', tag .. 'event-times', position)
end
for _, cause in ipairs(causes) do call('ZREM', tag .. 'causes', cause) end
for _, actor in ipairs(ended) do call('ZREM', tag .. 'ended', actor) end
return math.max(#positions, #causes, #ended)
