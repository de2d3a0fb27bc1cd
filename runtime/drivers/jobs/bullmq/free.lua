--[[
  Ends the leases of owners whose processes are gone.

  KEYS     of each kind by turns: delayed, active, events (as in ready.lua)

  ARGV[1]  now, epoch ms
  ARGV[2]  events that are kept
  ARGV[3…] of each kind: what stands before an id in the key of its job; then the owners

  Answers how many leases there were.
]]
local kinds = #KEYS / 3
local first = tonumber(ARGV[1]) * 4096
local gone = {}
for index = 3 + kinds, #ARGV do gone[ARGV[index]] = true end

local freed = 0
for kind = 1, kinds do
  local delayed, active, events = KEYS[kind * 3 - 2], KEYS[kind * 3 - 1], KEYS[kind * 3]
  local ids = redis.call('LRANGE', active, 0, -1)
  for index = #ids, 1, -1 do
    local id = ids[index]
    local lock = ARGV[kind + 2] .. id .. ':lock'
    local owner = redis.call('GET', lock)
    if owner and gone[owner] then
      redis.call('DEL', lock)
      redis.call('LREM', active, -1, id)
      local last = redis.call('ZREVRANGEBYSCORE', delayed, first + 4095, first, 'WITHSCORES', 'LIMIT', 0, 1)
      redis.call('ZADD', delayed, last[2] and math.min(last[2] + 1, first + 4095) or first, id)
      redis.call('XADD', events, 'MAXLEN', '~', ARGV[2], '*', 'event', 'stalled', 'jobId', id)
      freed = freed + 1
    end
  end
end
return freed
