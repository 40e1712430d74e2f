import { describe, expect, it } from 'vitest';
import { diagnosticsIn } from '../../../support/config-text.ts';

const configured = (keys: string, upstream = '') =>
  `routes: [{ path: /a, upstream: api, authentication: none, ${keys} }]\nupstreams: { api: { url: "http://api:3000"${upstream} } }\n`;

describe('a route with WebSockets', () => {
  it('takes GET, with which they begin', async () => {
    expect(await diagnosticsIn(configured('websocket: true, methods: [POST]'))).toEqual([
      '1:85: routes[0].methods: a WebSocket begins with a GET: add GET, or remove "websocket"',
    ]);
    expect(await diagnosticsIn(configured('websocket: true, methods: [POST, GET]'))).toEqual([]);
    expect(await diagnosticsIn(configured('methods: [POST]'))).toEqual([]);
  });

  it('needs an upstream of HTTP/1.1', async () => {
    expect(await diagnosticsIn(configured('websocket: true', ', protocol: h2'))).toEqual([
      '1:70: routes[0].websocket: WebSockets need HTTP/1.1: the upstream "api" speaks h2',
    ]);
  });
});

describe('websocket_idle', () => {
  it('is of use only where there are WebSockets', async () => {
    const idle = 'timeouts: { websocket_idle: 1h }';
    expect(await diagnosticsIn(configured(idle))).toEqual([
      '1:87: routes[0].timeouts.websocket_idle: this route serves no WebSockets: add "websocket: true"',
    ]);
    expect(await diagnosticsIn(configured(`${idle}, websocket: true`))).toEqual([]);
  });
});
