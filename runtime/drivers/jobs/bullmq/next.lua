--[[
  When the next job of some kinds can be claimed. Takes longer the more jobs are at work, not the more wait.

  KEYS     of each kind by turns: wait, delayed, active (as in ready.lua)

  ARGV[1]  the owner whose leases do not count
  ARGV[2]  now, epoch ms
  ARGV[3…] of each kind: what stands before an id in the key of its job

  Answers epoch ms, which may be past; -1 when there is none.
]]
local now = tonumber(ARGV[2])
local next = -1
local function consider(time)
  if next < 0 or time < next then next = time end
end

for kind = 1, #KEYS / 3 do
  if redis.call('LLEN', KEYS[kind * 3 - 2]) > 0 then consider(now) end

  local first = redis.call('ZRANGE', KEYS[kind * 3 - 1], 0, 0, 'WITHSCORES')
  if first[2] then consider(math.floor(first[2] / 4096)) end

  for _, id in ipairs(redis.call('LRANGE', KEYS[kind * 3], 0, -1)) do
    local lock = ARGV[kind + 2] .. id .. ':lock'
    local owner = redis.call('GET', lock)
    if not owner then
      consider(now)
    elseif owner ~= ARGV[1] then
      consider(now + redis.call('PTTL', lock))
    end
  end
end
return next
