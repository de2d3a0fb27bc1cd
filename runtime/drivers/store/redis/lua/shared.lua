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

-- A list: its length, then `width` arguments an item. Answers items as tables.
local function take_list(width)
  local items = {}
  for index = 1, tonumber(take()) do
    local item = {}
    for field = 1, width do item[field] = take() end
    items[index] = item
  end
  return items
end
