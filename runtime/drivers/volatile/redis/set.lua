--[[
  Sets values that expire, and lets go of names whose time is over.

  KEYS[1]   sorted set of names by when they are over, epoch ms of this clock
  KEYS[2…]  of the values, one for each name

  ARGV[1]   how long they last, ms
  ARGV[2]   names that there may be
  ARGV[3]   names that may be let go of in this call
  ARGV[4…]  name and text of each value, by turns

  Answers how many new names were refused because there was no room. All others have been set.
]]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local over = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[3])
if #over > 0 then redis.call('ZREM', KEYS[1], unpack(over)) end

local room = ARGV[2] - redis.call('ZCARD', KEYS[1])
local refused = 0
for index = 2, #KEYS do
  local name = ARGV[index * 2]
  local isNew = not redis.call('ZSCORE', KEYS[1], name)
  if isNew and room <= 0 then
    refused = refused + 1
  else
    if isNew then room = room - 1 end
    redis.call('ZADD', KEYS[1], now + ARGV[1], name)
    redis.call('SET', KEYS[index], ARGV[index * 2 + 1], 'PX', ARGV[1])
  end
end
return refused
