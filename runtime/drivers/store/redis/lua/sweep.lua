-- Forgets events, causes and ids of ended actors that are older than a time, a stretch of each.
-- ARGV time (epoch ms), position after which events are kept, most of each, events that earlier stretches kept
-- Answers how many were looked at of that which had most, and how many events were kept.
local before, up_to, limit, passed = take(), tonumber(take()), take(), take()
local function oldest(key, first)
  return call('ZRANGE', tag .. key, '-inf', '(' .. before, 'BYSCORE', 'LIMIT', first, limit)
end
local positions, causes, ended = oldest('event-times', passed), oldest('causes', 0), oldest('ended', 0)
local kept = 0
local function forget(position)
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
for _, position in ipairs(positions) do
  if tonumber(position) <= up_to then forget(position) else kept = kept + 1 end
end
for _, cause in ipairs(causes) do call('ZREM', tag .. 'causes', cause) end
for _, actor in ipairs(ended) do call('ZREM', tag .. 'ended', actor) end
return { math.max(#positions, #causes, #ended), kept }
