-- wrk sends so many requests at once, and again as soon as all of them are answered.
function init(args)
  requests = string.rep(wrk.format(), tonumber(args[1]))
end

function request()
  return requests
end
