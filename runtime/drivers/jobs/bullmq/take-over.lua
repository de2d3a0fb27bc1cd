--[[
  Ends the leases of former processes of a node.

  KEYS     of each kind by turns: delayed, active, events (as in ready.lua)

  ARGV[1]  the owner who takes over: `<node>/<incarnation>`
  ARGV[2]  `<node>/`
  ARGV[3]  now, epoch ms
  ARGV[4]  events that are kept
  ARGV[5…] of each kind: what stands before an id in the key of its job

  Answers how many.
]]
local node = ARGV[2]
local first = tonumber(ARGV[3]) * 4096
local ended = 0
for kind = 1, #KEYS / 3 do
  local delayed, active, events = KEYS[kind * 3 - 2], KEYS[kind * 3 - 1], KEYS[kind * 3]
  local ids = redis.call('LRANGE', active, 0, -1)
  for index = #ids, 1, -1 do
    local id = ids[index]
    local lock = ARGV[kind + 4] .. id .. ':lock'
    local owner = redis.call('GET', lock)
    -- An incarnation has no slash, a node may have some.
    if owner and owner ~= ARGV[1] and owner:sub(1, #node) == node and not owner:find('/', #node + 1, true) then
      redis.call('DEL', lock)
      redis.call('LREM', active, -1, id)
      local last = redis.call('ZREVRANGEBYSCORE', delayed, first + 4095, first, 'WITHSCORES', 'LIMIT', 0, 1)
      redis.call('ZADD', delayed, last[2] and math.min(last[2] + 1, first + 4095) or first, id)
      redis.call('XADD', events, 'MAXLEN', '~', ARGV[4], '*', 'event', 'stalled', 'jobId', id)
      ended = ended + 1
    end
  end
end
return ended
