-- Appends events to the log, each once by its id. Positions grow, and are dense but where a rollback left a gap.
-- KEYS 1 head of the log (hash: last, swept); all other keys have its tag
-- ARGV 1 '1' when this repeats what may have been appended long ago: what a sweep has passed since is left out
--        then for each event: at, id, type, account, stream, body
-- Answers the position of each; '0' for one that was left out.
local tag = string.sub(KEYS[1], 1, -5)
local head = redis.call('HMGET', KEYS[1], 'last', 'swept')
local last, swept = tonumber(head[1] or '0'), tonumber(head[2] or '0')
local positions = {}
for from = 2, #ARGV, 6 do
  local at, id, account = ARGV[from], ARGV[from + 1], ARGV[from + 3]
  local position = redis.call('HGET', tag .. 'ids', id)
  if not position and ARGV[1] == '1' and tonumber(at) < swept then position = '0' end
  if not position then
    last = last + 1
    position = string.format('%.0f', last)
    redis.call('XADD', tag .. 'events', position .. '-0', 'i', id, 't', ARGV[from + 2], 'a', account,
      's', ARGV[from + 4], 'b', ARGV[from + 5], 'at', at)
    redis.call('HSET', tag .. 'ids', id, position)
    redis.call('ZADD', tag .. 'at', at, position)
    redis.call('ZADD', tag .. 'account\0' .. account, position, position)
  end
  positions[#positions + 1] = position
end
redis.call('HSET', KEYS[1], 'last', string.format('%.0f', last))
return positions
