-- Steps of one partition, all or nothing: everything is checked before the first write.
-- ARGV partition, epoch, offset consumed so far (empty: there is no log), offset consumed with these steps, number of steps;
--      for each step: cause, '1' when it is remembered, counter or empty, at, actor, sequence that it starts from,
--        next '<sequence> <version> <state>' or empty when the actor has ended, job that it finishes or empty, owner of that,
--        cancelled jobs (id), timers (name, due or empty to remove it), events (id, type, account, stream, body),
--        orders (id, '<type>\n<body>'), rows (kind, id, header or empty to delete it, body), new jobs (id, child, input, due)
-- Answers {'ok', position of the last event}, {'fenced'}, {'gap', offset}, {'duplicate'},
-- {'refused', step from 0, 'duplicate' | 'lost' | 'conflict'}.
local partition, epoch, from, to, count = take(), take(), take(), take(), take_count()
local head = call('HMGET', heads, 'e' .. partition, 'o' .. partition)
if head[1] ~= epoch then return { 'fenced' } end
if from ~= '' then
  local stored = tonumber(head[2] or '-1')
  if stored ~= tonumber(from) then
    if tonumber(from) < tonumber(to) and stored >= tonumber(to) then return { 'duplicate' } end
    return { 'gap', head[2] or '-1' }
  end
end

-- As the steps so far leave them: actor -> sequence ('ended': it has ended), causes, jobs that are gone.
local sequences, causes, gone = {}, {}, {}
local function sequence_of(actor)
  if sequences[actor] then return sequences[actor] end
  local stored = call('HGET', tag .. 'actors', actor)
  if stored then return string.match(stored, '^%d+') end
  return call('ZSCORE', tag .. 'ended', actor) and 'ended' or '0'
end

local first = next_argument
for index = 1, count do
  local cause, is_remembered, _, _, actor, sequence = take(), take() == '1', take(), take(), take(), take()
  local next, job, owner = take(), take(), take()
  local why
  if is_remembered and (causes[cause] or call('ZSCORE', tag .. 'causes', cause)) then
    why = 'duplicate'
  elseif job ~= '' and (gone[job] or owner_of(job) ~= owner) then
    why = 'lost'
  elseif sequence_of(actor) ~= sequence then
    why = 'conflict'
  end
  if why then return { 'refused', tostring(index - 1), why } end
  causes[cause] = is_remembered
  if job ~= '' then gone[job] = true end
  for _ = 1, take_count() do gone[take()] = true end
  sequences[actor] = next == '' and 'ended' or string.match(next, '^%d+')
  for _, width in ipairs({ 2, 5, 2, 4, 4 }) do pass(width) end
end
next_argument = first

local timers = tag .. 'timers\0' .. partition

-- Takes a list of timers. Those of an actor are a field, JSON of name -> time as text: its numbers have 14 digits here.
local function write_timers(actor)
  local changes = take_count()
  if changes == 0 then return end
  local stored = get_field(timers, actor)
  local all = stored and cjson.decode(stored) or {}
  for _ = 1, changes do
    local name, due = take(), take()
    all[name] = due ~= '' and due or nil
  end
  set_field(timers, actor, next(all) and cjson.encode(all) or false)
end

-- Takes a list of orders. One that is there already is the same one: its id names the effect.
local function write_orders()
  for _ = 1, take_count() do
    local id, order = take(), take()
    if not get_field(tag .. 'orders', id) then
      local number = call('HINCRBY', heads, 'orders', 1)
      set_field(tag .. 'orders', id, partition .. ' ' .. number .. '\n' .. order)
    end
  end
end

local has_jobs = false
for _ = 1, count do
  local cause, is_remembered, counter, at, actor, _, state = take(), take(), take(), take(), take(), take(), take()
  local job, _, has_ended = take(), take(), state == ''
  if is_remembered == '1' then add_member(tag .. 'causes', at, cause) end
  if counter ~= '' and tonumber(counter) > tonumber(get_field(heads, 'c' .. partition) or '0') then
    set_field(heads, 'c' .. partition, counter)
  end
  if job ~= '' then remove_job(job) end
  set_field(tag .. 'actors', actor, not has_ended and state)
  for _ = 1, take_count() do
    local id = take()
    if call('SISMEMBER', tag .. 'jobs-of\0' .. actor, id) == 1 then remove_job(id) end
  end
  if has_ended then
    pass(2)
    set_field(timers, actor, false)
    add_member(tag .. 'ended', at, actor)
    for _, id in ipairs(call('SMEMBERS', tag .. 'jobs-of\0' .. actor)) do remove_job(id) end
  else
    write_timers(actor)
  end
  append_events(at, epoch)
  write_orders()
  for _ = 1, take_count() do write_row(take(), take(), take(), take()) end
  if has_ended then pass(4) else has_jobs = add_jobs(actor, at) or has_jobs end
end
if from ~= '' and from ~= to then set_field(heads, 'o' .. partition, to) end
local position = close_events()
write_pending()
if has_jobs then wake_workers() end
return { 'ok', position }
