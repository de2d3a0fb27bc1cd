-- The event log: a stream whose entries are '<position>-0', found by id, by time (for sweeping) and by account.
local last

-- event: id, type, account, stream, body
local function append_event(event, at, epoch)
  last = last or tonumber(call('HGET', heads, 'last') or '0')
  last = last + 1
  local position = string.format('%.0f', last)
  call('XADD', tag .. 'events', position .. '-0', 'i', event[1], 't', event[2], 'a', event[3],
    's', event[4], 'b', event[5], 'at', at, 'e', epoch)
  call('HSET', tag .. 'event-ids', event[1], position)
  call('ZADD', tag .. 'event-times', at, position)
  call('ZADD', tag .. 'account\0' .. event[3], position, position)
end

-- Answers the position of the last event ever.
local function close_events()
  if not last then return '0' end
  local position = string.format('%.0f', last)
  call('HSET', heads, 'last', position)
  return position
end
