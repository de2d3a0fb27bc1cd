-- The event log: a stream whose entries are '<position>-0', found by id, by time (for sweeping) and by account.
local last

-- Takes a list of events: id, type, account, stream, body.
local function append_events(at, epoch)
  for _ = 1, take_count() do
    local id, type, account, stream, body = take(), take(), take(), take(), take()
    last = (last or tonumber(call('HGET', heads, 'last') or '0')) + 1
    local position = string.format('%.0f', last)
    call('XADD', tag .. 'events', position .. '-0', 'i', id, 't', type, 'a', account, 's', stream, 'b', body,
      'at', at, 'e', epoch)
    set_field(tag .. 'event-ids', id, position)
    add_member(tag .. 'event-times', at, position)
    add_member(tag .. 'account\0' .. account, position, position)
  end
end

-- Answers the position of the last event ever.
local function close_events()
  local position = last and string.format('%.0f', last) or '0'
  if last then set_field(heads, 'last', position) end
  return position
end
