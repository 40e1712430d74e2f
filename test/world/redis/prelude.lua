-- Makes of Lua 5.4 what scripts find in Redis, which has Lua 5.1. `call` and `pcall` run a command, and `lacks` ends
-- the test.
local call, pcall, lacks = ...
local getinfo, format, toNumber = debug.getinfo, string.format, tonumber
local move, load, rawset, type, error, xpcall = table.move, load, rawset, type, error, xpcall

-- All numbers of Lua 5.1 are doubles, and it reads what C reads.
local special = { inf = math.huge, infinity = math.huge, nan = 0 / 0 }
function tonumber(value, base)
  if base then
    local number = toNumber(value, base)
    return number and number + 0.0
  end
  local number = toNumber(value)
  if number then return number + 0.0 end
  if type(value) ~= 'string' then return nil end
  local sign, name = string.match(string.lower(value), '^%s*([+-]?)(%a+)%s*$')
  number = special[name or '']
  return sign == '-' and number and -number or number
end

local toText = tostring
function tostring(value)
  if type(value) == 'number' then return format('%.14g', value) end
  return toText(value)
end

unpack = table.unpack

local function without(room, names)
  for _, name in ipairs(names) do room[name] = nil end
end
without(table, { 'move', 'pack', 'unpack' })
without(string, { 'pack', 'unpack', 'packsize' })
without(math, { 'tointeger', 'type', 'ult' })
without(_G, { 'io', 'os', 'package', 'require', 'debug', 'utf8', 'dofile', 'loadfile', 'warn', 'rawlen', 'coroutine', 'collectgarbage' })

local function whole(name)
  return { __index = function(_, member) lacks(name .. '.' .. tostring(member)) end }
end

redis = setmetatable({ call = call, pcall = pcall }, whole('redis'))

-- `cjson.decode` is told the text as a program, which is compiled once.
local decoders = {}
local toProgram
cjson = setmetatable({}, whole('cjson'))
function cjson.decode(text)
  local decode = decoders[text]
  if not decode then
    decode = load(toProgram(text))
    decoders[text] = decode
  end
  return decode()
end

-- Says where in the script it failed.
local function explain(failure)
  if type(failure) ~= 'table' then failure = { err = 'ERR ' .. tostring(failure) } end
  local level = 2
  local at = getinfo(level, 'Sl')
  while at and at.source ~= '@user_script' do
    level = level + 1
    at = getinfo(level, 'Sl')
  end
  failure.line = at and at.currentline
  return failure
end

setmetatable(_G, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. toText(name) .. "'", 2)
  end,
  __newindex = function() error('Attempt to modify a readonly table', 2) end,
})

-- Runs a script with so many keys, which come first, and with arguments.
return function(script, keys, ...)
  local all = { ... }
  rawset(_G, 'KEYS', move(all, 1, keys, 1, {}))
  rawset(_G, 'ARGV', move(all, keys + 1, #all, 1, {}))
  return xpcall(script, explain)
end, function(reader) toProgram = reader end
