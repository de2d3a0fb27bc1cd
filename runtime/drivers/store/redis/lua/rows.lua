-- A row is a field of the hash 'rows\0<kind>': '<revision>\n<header>\n<body>'. The header is JSON of
-- [account, createdAt as 16 digits, name, [index, value, ...]]: all that index entries are made of, so that those of an
-- earlier write are found again. An index entry is a member, with score 0, of a sorted set:
--   time\0<kind>                            <createdAt><id>        all rows, by time
--   time\0<kind>\0<account>                 <createdAt><id>        those of an account, by time
--   name\0<kind>\0<account>                 <name>\0<createdAt><id>  by name; \0 and \1 in it are written \1\1 and \1\2
--   id\0<kind>\0<account>                   <id>
--   index\0<kind>\0<index>\0<value>             <createdAt><id>      those with this value, by time
--   own\0<kind>\0<index>\0<account>\0<value>    <createdAt><id>      the same of an account
local escapes = { ['\0'] = '\1\1', ['\1'] = '\1\2' }

local function entries(kind, id, header)
  local row = cjson.decode(header)
  local account, place, indexes = row[1], row[2] .. id, row[4]
  local list = {
    [tag .. 'time\0' .. kind] = place,
    [tag .. 'time\0' .. kind .. '\0' .. account] = place,
    [tag .. 'name\0' .. kind .. '\0' .. account] = string.gsub(row[3], '[%z\1]', escapes) .. '\0' .. place,
    [tag .. 'id\0' .. kind .. '\0' .. account] = id
  }
  for at = 1, #indexes, 2 do
    local index, value = indexes[at], indexes[at + 1]
    list[tag .. 'index\0' .. kind .. '\0' .. index .. '\0' .. value] = place
    list[tag .. 'own\0' .. kind .. '\0' .. index .. '\0' .. account .. '\0' .. value] = place
  end
  return list
end

-- Revision and header of a row; 0 when there is none.
local function stored_row(kind, id)
  local stored = get_field(tag .. 'rows\0' .. kind, id)
  if not stored then return 0 end
  local revision, header = string.match(stored, '^(%d+)\n([^\n]*)')
  return tonumber(revision), header
end

local function write_row(kind, id, header, body)
  local revision, before = stored_row(kind, id)
  if header == '' and not before then return end
  set_field(tag .. 'rows\0' .. kind, id, header ~= '' and (revision + 1) .. '\n' .. header .. '\n' .. body)
  if header == before then return end
  local old = before and entries(kind, id, before) or {}
  local new = header ~= '' and entries(kind, id, header) or {}
  for key, member in pairs(old) do
    if new[key] ~= member then call('ZREM', key, member) end
  end
  for key, member in pairs(new) do
    if old[key] ~= member then call('ZADD', key, 0, member) end
  end
end
