-- Binds the data to a number of partitions and to a command log, checks both, and takes partitions over.
-- ARGV number of partitions, identity of the log or empty, partitions to take (partition)
-- Answers {'partitions', stored} or {'log', stored}, which have written nothing, or {'ok', epoch, counter, offset, epoch, ...}.
local count, log = take(), take()
local facts = tag .. 'facts'
local stored = call('HMGET', facts, 'partitions', 'log')
if stored[1] and stored[1] ~= count then return { 'partitions', stored[1] } end
if stored[2] and log ~= '' and stored[2] ~= log then return { 'log', stored[2] } end
call('HSETNX', facts, 'partitions', count)
if log ~= '' then call('HSETNX', facts, 'log', log) end
local answer = { 'ok' }
for _ = 1, take_count() do
  local partition = take()
  local epoch = call('HINCRBY', heads, 'e' .. partition, 1)
  local head = call('HMGET', heads, 'c' .. partition, 'o' .. partition)
  answer[#answer + 1] = tostring(epoch)
  answer[#answer + 1] = head[1] or '0'
  answer[#answer + 1] = head[2] or '-1'
end
return answer
