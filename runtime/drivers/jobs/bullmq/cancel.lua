--[[
  Removes jobs of one kind, whatever state they are in; BullMQ removes none that is locked. Unknown ones are ignored.

  KEYS[1]  wait: list
  KEYS[2]  delayed: sorted set
  KEYS[3]  active: list
  KEYS[4]  added: sorted set of all jobs, by when they were added
  KEYS[5]  events: stream

  ARGV[1]  what stands before an id in the key of its job
  ARGV[2]  events that are kept
  ARGV[3…] ids

  Answers how many were there.
]]
local removed = 0
for index = 3, #ARGV do
  local id = ARGV[index]
  redis.call('ZREM', KEYS[4], id)
  if redis.call('DEL', ARGV[1] .. id) == 1 then
    redis.call('DEL', ARGV[1] .. id .. ':lock')
    -- Where most are first, and where a search takes longest last.
    local _ = redis.call('ZREM', KEYS[2], id) == 1
      or redis.call('LREM', KEYS[3], -1, id) == 1
      or redis.call('LREM', KEYS[1], -1, id) == 1
    redis.call('XADD', KEYS[5], 'MAXLEN', '~', ARGV[2], '*', 'event', 'removed', 'jobId', id)
    removed = removed + 1
  end
end
return removed
