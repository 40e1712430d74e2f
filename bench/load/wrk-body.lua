-- wrk sends the same request over and over; with a body where two arguments, method and bytes, say so.
function init(args)
  wrk.method = args[1]
  wrk.body = string.rep("-", tonumber(args[2]))
  wrk.headers["Content-Type"] = "application/octet-stream"
end
