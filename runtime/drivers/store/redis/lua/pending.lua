-- What a script writes to hashes and sorted sets, written at its end: with one call for many of a key.
local fields, members = {}, {}

-- A field as this script leaves it so far; false when it is not there.
local function get_field(key, field)
  local own = fields[key]
  if own and own[field] ~= nil then return own[field] end
  return call('HGET', key, field)
end

-- False removes it.
local function set_field(key, field, value)
  fields[key] = fields[key] or {}
  fields[key][field] = value
end

local function add_member(key, score, member)
  local own = members[key] or {}
  members[key] = own
  own[#own + 1] = score
  own[#own + 1] = member
end

-- Lua puts a few thousand values on its stack at the most.
local function write(command, key, values)
  for from = 1, #values, 4000 do call(command, key, unpack(values, from, math.min(from + 3999, #values))) end
end

local function write_pending()
  for key, own in pairs(fields) do
    local kept, gone = {}, {}
    for field, value in pairs(own) do
      if value then
        kept[#kept + 1] = field
        kept[#kept + 1] = value
      else
        gone[#gone + 1] = field
      end
    end
    write('HSET', key, kept)
    write('HDEL', key, gone)
  end
  for key, own in pairs(members) do write('ZADD', key, own) end
end
