-- The newest row with a value of an index.
-- ARGV kind, index, value
-- Answers nothing, or {createdAt and id, the row}.
local kind, index, value = take(), take(), take()
local place = call('ZRANGE', tag .. 'index\0' .. kind .. '\0' .. index .. '\0' .. value, 0, 0, 'REV')[1]
if not place then return {} end
return { place, call('HGET', tag .. 'rows\0' .. kind, string.sub(place, 17)) }
