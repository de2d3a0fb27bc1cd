-- Jobs. An id ends with '/<kind>'.
--   jobs                hash: id -> JSON of [number as 16 digits, actor, child, input, time of adding]
--   job-attempts        hash: id -> attempts that have begun
--   job-owners          hash: id -> who has it, of those that somebody has
--   ready\0<kind>       sorted set of <number><id>, by the time from which it can be claimed: its due time, or the end of its lease
--   added\0<kind>       sorted set of ids, by the time of their adding
--   jobs-of\0<actor>    set of ids
--   job-kinds           set of the kinds that ever had jobs
local function kind_of(id)
  return string.match(id, '[^/]*$')
end

local function owner_of(id)
  return call('HGET', tag .. 'job-owners', id)
end

local function stored_job(id)
  local stored = call('HGET', tag .. 'jobs', id)
  return stored and cjson.decode(stored)
end

-- Takes a list of jobs: id, child, input, due. One that is there stays as it is. Answers whether there are any.
local function add_jobs(actor, at)
  local count = take_count()
  for _ = 1, count do
    local id, child, input, due = take(), take(), take(), take()
    if call('HEXISTS', tag .. 'jobs', id) == 0 then
      local kind = kind_of(id)
      local number = string.format('%016.0f', call('HINCRBY', heads, 'jobs', 1))
      call('HSET', tag .. 'jobs', id, cjson.encode({ number, actor, child, input, at }))
      call('ZADD', tag .. 'ready\0' .. kind, due, number .. id)
      call('ZADD', tag .. 'added\0' .. kind, at, id)
      call('SADD', tag .. 'jobs-of\0' .. actor, id)
      call('SADD', tag .. 'job-kinds', kind)
    end
  end
  return count > 0
end

local function remove_job(id)
  local job = stored_job(id)
  if not job then return end
  local kind = kind_of(id)
  call('HDEL', tag .. 'jobs', id)
  call('HDEL', tag .. 'job-attempts', id)
  call('HDEL', tag .. 'job-owners', id)
  call('ZREM', tag .. 'ready\0' .. kind, job[1] .. id)
  call('ZREM', tag .. 'added\0' .. kind, id)
  call('SREM', tag .. 'jobs-of\0' .. job[2], id)
end

local function set_ready(id, time)
  call('ZADD', tag .. 'ready\0' .. kind_of(id), time, stored_job(id)[1] .. id)
end

local function wake_workers()
  call('PUBLISH', tag .. 'jobs-added', '')
end
