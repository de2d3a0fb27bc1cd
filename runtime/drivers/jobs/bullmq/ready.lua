--[[
  Ends the leases that are over, and counts the jobs that can be claimed.

  BullMQ's own look at stalled jobs marks what is active and moves, an interval later, what is still marked and has no
  lock: an end of a lease would be noticed between one and two intervals late. This looks once. What it finds goes to
  the delayed jobs, due now: `moveToActive` takes those in the order in which they became ready.

  KEYS[1]  wait: list
  KEYS[2]  delayed: sorted set, by due time * 4096 + number within the millisecond
  KEYS[3]  active: list, the oldest last
  KEYS[4]  events: stream

  ARGV[1]  what stands before an id in the key of its job
  ARGV[2]  now, epoch ms
  ARGV[3]  events that are kept
  ARGV[4]  1: look at the leases, which takes longer the more there are

  Answers how many can be claimed, and in how many ms the next lease ends, -1 when there is none or nobody looked.
]]
local now = tonumber(ARGV[2])
local ends = -1

if ARGV[4] == '1' then
  local active = redis.call('LRANGE', KEYS[3], 0, -1)
  for index = #active, 1, -1 do
    local id = active[index]
    local left = redis.call('PTTL', ARGV[1] .. id .. ':lock')
    if left >= 0 then
      if ends < 0 or left < ends then ends = left end
    else
      redis.call('LREM', KEYS[3], -1, id)
      local first = now * 4096
      local last = redis.call('ZREVRANGEBYSCORE', KEYS[2], first + 4095, first, 'WITHSCORES', 'LIMIT', 0, 1)
      redis.call('ZADD', KEYS[2], last[2] and math.min(last[2] + 1, first + 4095) or first, id)
      redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[3], '*', 'event', 'stalled', 'jobId', id)
    end
  end
end

local due = redis.call('ZCOUNT', KEYS[2], 0, (now + 1) * 4096 - 1)
return { redis.call('LLEN', KEYS[1]) + due, ends }
