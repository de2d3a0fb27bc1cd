-- Plain rows by compare-and-set, all or nothing, with events.
-- ARGV at, not empty: only while the log has none of the events, rows (kind, id, expected revision, header or empty to
--      delete it, body), events (id, type, account, stream, body)
-- Answers {'ok', position of the last event}, {'duplicate'} or {'conflict'}, which have written nothing.
local at, once, rows, events = take(), take(), take_list(5), take_list(5)
for _, event in ipairs(events) do
  if once ~= '' and call('HEXISTS', tag .. 'event-ids', event[1]) == 1 then return { 'duplicate' } end
end
for _, row in ipairs(rows) do
  if stored_row(row[1], row[2]) ~= tonumber(row[3]) then return { 'conflict' } end
end
for _, row in ipairs(rows) do write_row(row[1], row[2], row[4], row[5]) end
for _, event in ipairs(events) do append_event(event, at, '') end
return { 'ok', close_events() }
