// The cheapest response of Node's own HTTP server, with which refusals are compared.
import { createServer } from 'node:http';

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Length': 0 });
  response.end();
});
server.listen(Number(process.env['PORT']), '127.0.0.1');
