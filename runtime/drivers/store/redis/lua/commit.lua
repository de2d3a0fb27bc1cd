-- One step of an actor, all or nothing. After rows.lua and place.lua.
-- KEYS 1 head of the partition (hash: epoch, offset, counter, entries, orders); all other keys have its tag
-- ARGV 1 epoch
--      2 offset that was consumed so far, empty: the step says nothing of the log
--      3 offset that is consumed with this step
--      4 cause
--      5 empty: the cause is not remembered; 'n': it is, without a reply; 'r<reply>'
--      6 counter, or empty
--      7 at, epoch ms
--      8 actor
--      9 sequence that it started from
--     10 next '<sequence> <version> <state>'; empty: the actor has ended
--     11 timers as JSON, name -> due as text, or false to remove it; empty: none change
--     12 outbox entry as JSON, or empty
--     13 number of orders, then for each: id, '<type>\n<body>'
--        then for each row: kind, id, header (empty: delete), body
-- Answers {'ok', number of the outbox entry or ''}, {'fenced'}, {'gap', offset}, {'duplicate', [reply]}, {'conflict'}.
-- Whatever is not ok has written nothing, but for the offset of a cause that was remembered.
local head = redis.call('HMGET', KEYS[1], 'epoch', 'offset', 'counter')
local problem = misplaced(head, ARGV[1], ARGV[2], ARGV[3])
if problem then return problem end

local causes, actors, timers = tag .. 'causes', tag .. 'actors', tag .. 'timers'
local cause, actor, sequence, state = ARGV[4], ARGV[8], ARGV[9], ARGV[10]
if ARGV[5] ~= '' then
  local reply = redis.call('HGET', causes, cause)
  if reply then
    if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'offset', ARGV[3]) end
    if reply == 'n' then return { 'duplicate' } end
    return { 'duplicate', string.sub(reply, 2) }
  end
end

local before = redis.call('HGET', actors, actor)
if (before and string.match(before, '^%d+') or '0') ~= sequence then return { 'conflict' } end
if not before and redis.call('ZSCORE', tag .. 'ended', actor) then return { 'conflict' } end

if ARGV[5] ~= '' then
  redis.call('HSET', causes, cause, ARGV[5])
  redis.call('ZADD', tag .. 'causes-at', ARGV[7], cause)
end
if ARGV[6] ~= '' and tonumber(ARGV[6]) > tonumber(head[3] or '0') then
  redis.call('HSET', KEYS[1], 'counter', ARGV[6])
end
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'offset', ARGV[3]) end

if state == '' then
  redis.call('HDEL', actors, actor)
  redis.call('HDEL', timers, actor)
  redis.call('ZADD', tag .. 'ended', ARGV[7], actor)
else
  redis.call('HSET', actors, actor, state)
  if ARGV[11] ~= '' then
    local stored = redis.call('HGET', timers, actor)
    local all = stored and cjson.decode(stored) or {}
    for name, due in pairs(cjson.decode(ARGV[11])) do all[name] = due or nil end
    if next(all) then
      redis.call('HSET', timers, actor, cjson.encode(all))
    elseif stored then
      redis.call('HDEL', timers, actor)
    end
  end
end

local at = 14
for _ = 1, tonumber(ARGV[13]) do
  -- An order's id names the effect, so one that is still there is the same one.
  if redis.call('HEXISTS', tag .. 'orders', ARGV[at]) == 0 then
    local number = redis.call('HINCRBY', KEYS[1], 'orders', 1)
    redis.call('HSET', tag .. 'orders', ARGV[at], number .. '\n' .. ARGV[at + 1])
  end
  at = at + 2
end
for row = at, #ARGV, 4 do write_row(ARGV[row], ARGV[row + 1], ARGV[row + 2], ARGV[row + 3]) end
return { 'ok', ARGV[12] ~= '' and leave_entry(ARGV[12]) or '' }
