-- Events of one account after a position, oldest first.
-- ARGV account, position, limit
-- Answers entries as XRANGE does.
local account, position, limit = take(), take(), take()
local positions = call('ZRANGE', tag .. 'account\0' .. account, '(' .. position, '+inf', 'BYSCORE', 'LIMIT', 0, limit)
local events = {}
for _, place in ipairs(positions) do
  local id = place .. '-0'
  events[#events + 1] = call('XRANGE', tag .. 'events', id, id)[1]
end
return events
