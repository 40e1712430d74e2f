import { beforeAll, expect, test } from 'vitest';
import { installBrowser, startBrowser } from '../support/browser.ts';
import { startTlsGateway } from '../support/tls-gateway.ts';

beforeAll(installBrowser);

// Chromium streams a request body over HTTP/2 alone.
test("a browser's fetch uploads a stream piece by piece, each before the next one exists", async () => {
  const { gateway, upstream } = await startTlsGateway({
    script: async exchange => {
      await exchange.received();
      await exchange.answer(200, ['Content-Type', 'text/html'], '<!doctype html>whole');
    },
  });
  const page = await (await startBrowser()).open(`https://127.0.0.1:${gateway.port}/`);
  await page.run(`
    const { readable, writable } = new TransformStream();
    self.writer = writable.getWriter();
    self.response = fetch('/upload', { method: 'POST', body: readable, duplex: 'half' });`);
  let sent = '';
  const upload = () => upstream.requests.find(({ target }) => target === '/upload');
  for (let i = 1; i <= 10; i++) {
    const piece = `piece ${i};`;
    await page.run(`await writer.write(new TextEncoder().encode('${piece}'))`);
    sent += piece;
    await expect.poll(() => upload()?.body.toString('latin1')).toBe(sent);
  }
  expect(upload()?.complete).toBe(false);
  expect(await page.run('await writer.close(); return await (await response).text()')).toContain('whole');
});
