--[[
  How many jobs each kind has, and when its oldest was added.

  KEYS     of each kind by turns: wait, delayed, active, added (as in cancel.lua)

  ARGV[1]  names of finished jobs that are forgotten on the way
  ARGV[2…] of each kind: what stands before an id in the key of its job

  Answers for each kind by turns: how many, and the oldest's epoch ms, -1 when that is not known.
]]
local answer = {}
local stale = tonumber(ARGV[1])
for kind = 1, #KEYS / 4 do
  local wait, delayed, active, added = unpack(KEYS, kind * 4 - 3, kind * 4)
  local count = redis.call('LLEN', wait) + redis.call('ZCARD', delayed) + redis.call('LLEN', active)

  -- A finished job is forgotten by whoever finished it, in a call of its own that may not have arrived.
  local oldest = redis.call('ZRANGE', added, 0, 0, 'WITHSCORES')
  while oldest[1] and stale > 0 and redis.call('EXISTS', ARGV[kind + 1] .. oldest[1]) == 0 do
    redis.call('ZREM', added, oldest[1])
    stale = stale - 1
    oldest = redis.call('ZRANGE', added, 0, 0, 'WITHSCORES')
  end

  answer[#answer + 1] = count
  answer[#answer + 1] = tonumber(oldest[2] or -1)
end
return answer
