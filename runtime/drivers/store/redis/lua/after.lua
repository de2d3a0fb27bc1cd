-- Events of one account after a position, oldest first.
-- KEYS 1 head of the log
-- ARGV 1 account, 2 position, 3 limit
-- Answers entries as XRANGE does.
local tag = string.sub(KEYS[1], 1, -5)
local positions =
  redis.call('ZRANGE', tag .. 'account\0' .. ARGV[1], '(' .. ARGV[2], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[3])
local events = {}
for _, position in ipairs(positions) do
  local id = position .. '-0'
  events[#events + 1] = redis.call('XRANGE', tag .. 'events', id, id)[1]
end
return events
