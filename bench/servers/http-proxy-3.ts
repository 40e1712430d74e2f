// http-proxy-3 as its documentation shows it, with the keep-alive agent without which it would open a connection for
// every request. It adds no header, checks nothing and logs nothing.
import { Agent, createServer } from 'node:http';
import { createProxyServer } from 'http-proxy-3';

const proxy = createProxyServer({
  target: { protocol: 'http:', host: '127.0.0.1', port: Number(process.env['UPSTREAM_PORT']) },
  agent: new Agent({ keepAlive: true }),
});
proxy.on('error', error => console.error(error));

createServer((request, response) => proxy.web(request, response)).listen(
  Number(process.env['PORT']),
  '127.0.0.1',
);
