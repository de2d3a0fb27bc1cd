-- Events of one account before a position, newest first.
-- ARGV account, position, limit
-- Answers entries as XREVRANGE does.
local account, position, limit = take(), take(), take()
local positions = call('ZRANGE', tag .. 'account\0' .. account, '(' .. position, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, limit)
local events = {}
for _, place in ipairs(positions) do
  local id = place .. '-0'
  events[#events + 1] = call('XRANGE', tag .. 'events', id, id)[1]
end
return events
