-- Plain rows by compare-and-set, all or nothing, with events.
-- ARGV at, not empty: only while the log has none of the events, rows (kind, id, expected revision, header or empty to
--      delete it, body), events (id, type, account, stream, body)
-- Answers {'ok', position of the last event}, {'duplicate'} or {'conflict'}, which have written nothing.
local at, once = take(), take()
local first = next_argument
pass(5)
for _ = 1, take_count() do
  if call('HEXISTS', tag .. 'event-ids', take()) == 1 and once ~= '' then return { 'duplicate' } end
  next_argument = next_argument + 4
end
next_argument = first
for _ = 1, take_count() do
  local kind, id, revision = take(), take(), take()
  if stored_row(kind, id) ~= tonumber(revision) then return { 'conflict' } end
  next_argument = next_argument + 2
end
next_argument = first
for _ = 1, take_count() do
  local kind, id, _, header, body = take(), take(), take(), take(), take()
  write_row(kind, id, header, body)
end
append_events(at, '')
local position = close_events()
write_pending()
return { 'ok', position }
