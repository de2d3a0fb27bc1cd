-- What workers do with jobs: the first argument says what.
local work = {}

-- ARGV kind, owner, now, until, most. Answers for each job: id, JSON of the job, attempt.
function work.claim()
  local kind, owner, now, lease_end, limit = take(), take(), take(), take(), take()
  local ready = tag .. 'ready\0' .. kind
  local answer = {}
  for _, member in ipairs(call('ZRANGE', ready, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
    local id = string.sub(member, 17)
    call('ZADD', ready, lease_end, member)
    call('HSET', tag .. 'job-owners', id, owner)
    answer[#answer + 1] = { id, call('HGET', tag .. 'jobs', id), call('HINCRBY', tag .. 'job-attempts', id, 1) }
  end
  return answer
end

-- ARGV owner, leases (id, until). Answers the ids that are not its own any more.
function work.beat()
  local owner, lost = take(), {}
  for _ = 1, take_count() do
    local id, lease_end = take(), take()
    if owner_of(id) == owner then set_ready(id, lease_end) else lost[#lost + 1] = id end
  end
  return lost
end

-- ARGV owner, id, due, '1' when the attempt does not count. Answers 1, or 0: it is not its own.
function work.release()
  local owner, id, due, is_uncounted = take(), take(), take(), take() == '1'
  if owner_of(id) ~= owner then return 0 end
  call('HDEL', tag .. 'job-owners', id)
  if is_uncounted then call('HINCRBY', tag .. 'job-attempts', id, -1) end
  set_ready(id, due)
  wake_workers()
  return 1
end

-- ARGV owner, id. Answers 1, or 0: it is not its own.
function work.finish()
  local owner, id = take(), take()
  if owner_of(id) ~= owner then return 0 end
  remove_job(id)
  return 1
end

-- ARGV kinds (kind). Answers when the first one can be claimed, or nothing.
function work.next()
  local first = false
  for _ = 1, take_count() do
    local some = call('ZRANGE', tag .. 'ready\0' .. take(), 0, 0, 'WITHSCORES')
    if some[2] and not (first and tonumber(first) <= tonumber(some[2])) then first = some[2] end
  end
  return first
end

-- ARGV now, owners that are gone (owner). Answers how many leases were ended.
function work.free()
  local now, gone, freed = take(), {}, 0
  for _ = 1, take_count() do gone[take()] = true end
  local leased = call('HGETALL', tag .. 'job-owners')
  for at = 1, #leased, 2 do
    if gone[leased[at + 1]] then
      call('HDEL', tag .. 'job-owners', leased[at])
      set_ready(leased[at], now)
      freed = freed + 1
    end
  end
  if freed > 0 then wake_workers() end
  return freed
end

-- Answers for each kind that has jobs: kind, count, time of adding of the oldest.
function work.totals()
  local answer = {}
  for _, kind in ipairs(call('SMEMBERS', tag .. 'job-kinds')) do
    local oldest = call('ZRANGE', tag .. 'added\0' .. kind, 0, 0, 'WITHSCORES')
    if oldest[2] then answer[#answer + 1] = { kind, call('ZCARD', tag .. 'added\0' .. kind), oldest[2] } end
  end
  return answer
end

return work[take()]()
