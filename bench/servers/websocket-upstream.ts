// The WebSocket service behind the gateways: sends every message back.
import { WebSocketServer } from 'ws';

const options = { host: '127.0.0.1', port: Number(process.env['PORT']), perMessageDeflate: false };

new WebSocketServer(options).on('connection', socket => {
  socket.on('error', () => {});
  socket.on('message', (data, binary) => socket.send(data, { binary }));
});
