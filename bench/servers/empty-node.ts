// The cheapest answer that Node's own HTTP server gives: what a refusal is compared with.
import { createServer } from 'node:http';

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Length': 0 });
  response.end();
});
server.listen(Number(process.env['PORT']), '127.0.0.1');
