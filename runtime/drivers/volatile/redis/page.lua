--[[
  The next names within a range, with their values. Names whose value is gone are dropped on the way.

  KEYS[1]  names: sorted set, all of score 0
  KEYS[2]  ends: sorted set of the same names

  ARGV[1]  what stands before a name in the key of its value
  ARGV[2]  from, as ZRANGEBYLEX has it: `[name` with it, `(name` behind it
  ARGV[3]  to
  ARGV[4]  names to look at

  Answers the last name that was looked at when there may be more behind it, else an empty text; then name and value
  by turns.
]]
local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
if #names == 0 then return { '' } end

local keys = {}
for index, name in ipairs(names) do keys[index] = ARGV[1] .. name end
local values = redis.call('MGET', unpack(keys))

local answer = { #names < tonumber(ARGV[4]) and '' or names[#names] }
local gone = {}
for index, name in ipairs(names) do
  if values[index] then
    answer[#answer + 1] = name
    answer[#answer + 1] = values[index]
  else
    gone[#gone + 1] = name
  end
end
if #gone > 0 then
  redis.call('ZREM', KEYS[1], unpack(gone))
  redis.call('ZREM', KEYS[2], unpack(gone))
end
return answer
