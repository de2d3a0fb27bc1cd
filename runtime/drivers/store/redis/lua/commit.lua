-- Steps of one partition, all or nothing: everything is checked before the first write.
-- ARGV partition, epoch, offset consumed so far (empty: there is no log), offset consumed with these steps, number of steps;
--      for each step: cause, '1' when it is remembered, counter or empty, at, actor, sequence that it starts from,
--        next '<sequence> <version> <state>' or empty when the actor has ended, job that it finishes or empty, owner of that,
--        timers (name, due or empty to remove it), events (id, type, account, stream, body), orders (id, '<type>\n<body>'),
--        rows (kind, id, header or empty to delete it, body), cancelled jobs (id), new jobs (id, child, input, due)
-- Answers {'ok', position of the last event}, {'fenced'}, {'gap', offset}, {'duplicate'},
-- {'refused', step from 0, 'duplicate' | 'lost' | 'conflict'}.
local partition, epoch, from, to = take(), take(), take(), take()
local head = call('HMGET', heads, 'e' .. partition, 'o' .. partition, 'c' .. partition)
if head[1] ~= epoch then return { 'fenced' } end
if from ~= '' then
  local stored = tonumber(head[2] or '-1')
  if stored ~= tonumber(from) then
    if tonumber(from) < tonumber(to) and stored >= tonumber(to) then return { 'duplicate' } end
    return { 'gap', head[2] or '-1' }
  end
end

local steps = {}
for index = 1, tonumber(take()) do
  steps[index] = {
    cause = take(), is_remembered = take() == '1', counter = take(), at = take(), actor = take(), sequence = take(),
    next = take(), finish = take(), owner = take(), timers = take_list(2), events = take_list(5), orders = take_list(2),
    rows = take_list(4), cancels = take_list(1), jobs = take_list(4)
  }
end

-- As the steps so far leave them: actor -> sequence ('ended': it has ended), causes, jobs that are gone.
local sequences, causes, gone = {}, {}, {}
local function sequence_of(actor)
  if sequences[actor] then return sequences[actor] end
  local stored = call('HGET', tag .. 'actors', actor)
  if stored then return string.match(stored, '^%d+') end
  return call('ZSCORE', tag .. 'ended', actor) and 'ended' or '0'
end
for index, step in ipairs(steps) do
  local why
  local job = step.finish
  if step.is_remembered and (causes[step.cause] or call('ZSCORE', tag .. 'causes', step.cause)) then
    why = 'duplicate'
  elseif job ~= '' and (gone[job] or owner_of(job) ~= step.owner) then
    why = 'lost'
  elseif sequence_of(step.actor) ~= step.sequence then
    why = 'conflict'
  end
  if why then return { 'refused', tostring(index - 1), why } end
  if step.is_remembered then causes[step.cause] = true end
  if job ~= '' then gone[job] = true end
  for _, cancel in ipairs(step.cancels) do gone[cancel[1]] = true end
  sequences[step.actor] = step.next == '' and 'ended' or string.match(step.next, '^%d+')
end

local function write_timers(actor, changes)
  local key = tag .. 'timers\0' .. partition
  local stored = call('HGET', key, actor)
  local all = stored and cjson.decode(stored) or {}
  -- Times as text, because the numbers of JSON have 14 digits here.
  for _, timer in ipairs(changes) do all[timer[1]] = timer[2] ~= '' and timer[2] or nil end
  if next(all) then
    call('HSET', key, actor, cjson.encode(all))
  elseif stored then
    call('HDEL', key, actor)
  end
end

local has_jobs = false
for _, step in ipairs(steps) do
  local actor, at = step.actor, step.at
  if step.is_remembered then call('ZADD', tag .. 'causes', at, step.cause) end
  if step.counter ~= '' and tonumber(step.counter) > tonumber(head[3] or '0') then
    call('HSET', heads, 'c' .. partition, step.counter)
    head[3] = step.counter
  end
  if step.finish ~= '' then remove_job(step.finish) end
  if step.next == '' then
    call('HDEL', tag .. 'actors', actor)
    call('HDEL', tag .. 'timers\0' .. partition, actor)
    call('ZADD', tag .. 'ended', at, actor)
    for _, id in ipairs(call('SMEMBERS', tag .. 'jobs-of\0' .. actor)) do remove_job(id) end
  else
    call('HSET', tag .. 'actors', actor, step.next)
    if #step.timers > 0 then write_timers(actor, step.timers) end
    for _, cancel in ipairs(step.cancels) do
      if call('SISMEMBER', tag .. 'jobs-of\0' .. actor, cancel[1]) == 1 then remove_job(cancel[1]) end
    end
    for _, job in ipairs(step.jobs) do
      add_job(job, actor, at)
      has_jobs = true
    end
  end
  for _, event in ipairs(step.events) do append_event(event, at, epoch) end
  for _, order in ipairs(step.orders) do
    -- An order's id names the effect, so one that is still there is the same one.
    if call('HEXISTS', tag .. 'orders', order[1]) == 0 then
      local number = call('HINCRBY', heads, 'orders', 1)
      call('HSET', tag .. 'orders', order[1], partition .. ' ' .. number .. '\n' .. order[2])
    end
  end
  for _, row in ipairs(step.rows) do write_row(row[1], row[2], row[3], row[4]) end
end
if from ~= '' and from ~= to then call('HSET', heads, 'o' .. partition, to) end
if has_jobs then wake_workers() end
return { 'ok', close_events() }
