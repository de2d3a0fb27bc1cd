-- Put before every script that checks the owner of a partition.
-- Why the owner may not go on from there; nil when it may. Without `from` only the epoch counts.
local function misplaced(head, epoch, from, to)
  if head[1] ~= epoch then return { 'fenced' } end
  if from == '' then return nil end
  local stored, first, last = tonumber(head[2] or '-1'), tonumber(from), tonumber(to)
  if stored == first then return nil end
  if first < last and stored >= last then return { 'duplicate' } end
  return { 'gap', head[2] or '-1' }
end
