import { beforeAll, expect, test } from 'vitest';
import { installBrowser, startBrowser } from '../support/browser.ts';
import { startSocketsOverTls } from '../support/web-sockets-tls.ts';

beforeAll(installBrowser);

test.each([
  ['HTTP/2', {}, '2 weir'],
  ['HTTP/1.1', { http2: false }, '1.1 weir'],
])(
  'a page in a browser opens WebSockets over %s, gets its echo, and learns why the gateway closes them',
  async (_, tls, version) => {
    const { gateway, via } = await startSocketsOverTls(tls);
    const page = await (await startBrowser()).open(`https://127.0.0.1:${gateway.port}/`);
    const isSame = await page.run<boolean>(`
    const open = async () => {
      const socket = new WebSocket('wss://' + location.host + '/live');
      await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
      const end = new Promise(resolve => { socket.onclose = ({ code, reason, wasClean }) => resolve([code, reason, wasClean]); });
      return { socket, end };
    };
    const opened = [await open(), await open()];
    self.ending = Promise.all(opened.map(({ end }) => end));
    const sent = Array.from({ length: 30000 }, (_, at) => at).join();
    const echoes = opened.map(({ socket }) => new Promise(resolve => { socket.onmessage = ({ data }) => resolve(data); }));
    for (const { socket } of opened) socket.send(sent);
    return (await Promise.all(echoes)).every(echo => echo === sent);`);
    expect(isSame).toBe(true);
    expect(via).toEqual([version, version]);
    void gateway.app.drain();
    const end = [1001, 'going away', true];
    expect(await page.run('return await ending')).toEqual([end, end]);
  },
);
