// The gRPC service behind the gateways: sends every message of a call back, and ends the call with OK.
import { createServer, type ServerHttp2Stream } from 'node:http2';

const HEAD = { ':status': 200, 'content-type': 'application/grpc' };

createServer({ settings: { maxConcurrentStreams: 10_000 } }, undefined)
  .on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {});
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.respond(HEAD, { waitForTrailers: true });
    stream.on('data', message => stream.write(message));
    stream.on('end', () => stream.end());
  })
  .listen(Number(process.env['PORT']), '127.0.0.1');
