-- Plain rows by compare-and-set, all or nothing. After rows.lua.
-- KEYS 1 head of the shard
-- ARGV 1 outbox entry as JSON, or empty
--        then for each row: kind, id, expected revision, header (empty: delete), body
-- Answers {'ok', number of the outbox entry or ''}, {'conflict'}, or {'absent', row, ...}: rows (from 0) that should
-- have a revision are not in this shard, and all others are as expected. Only ok has written anything.
local absent = { 'absent' }
for at = 2, #ARGV, 5 do
  local revision = stored_row(ARGV[at], ARGV[at + 1])
  if revision ~= tonumber(ARGV[at + 2]) then
    if revision ~= 0 then return { 'conflict' } end
    absent[#absent + 1] = tostring((at - 2) / 5)
  end
end
if #absent > 1 then return absent end
for at = 2, #ARGV, 5 do write_row(ARGV[at], ARGV[at + 1], ARGV[at + 3], ARGV[at + 4]) end
return { 'ok', ARGV[1] ~= '' and leave_entry(ARGV[1]) or '' }
