-- Put before every script. KEYS 1 is always '<namespace>:heads'; all keys have its prefix. Values in keys are apart by \0.
-- heads: hash of 'e<partition>' epoch, 'o<partition>' offset, 'c<partition>' counter; 'last' position of the event log,
-- 'orders' and 'jobs' the numbers given last.
local call = redis.call
local heads = KEYS[1]
local tag = string.sub(heads, 1, -6)
local next_argument = 0

local function take()
  next_argument = next_argument + 1
  return ARGV[next_argument]
end

-- How many items a list has, which come next.
local function take_count()
  return tonumber(take())
end

-- Leaves a list out whose items have `width` arguments.
local function pass(width)
  local count = take_count()
  next_argument = next_argument + width * count
end
