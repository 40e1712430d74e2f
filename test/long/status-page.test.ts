import { beforeAll, describe, expect, test } from 'vitest';
import { installBrowser, startBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { askTimes, startLimited } from '../support/limits.ts';

const limits = {
  global: { user: '10000/1s', address: '10000/1s' },
  buckets: {
    things: { user: '2/60s', main: 'id' },
    open: { address: '3/60s' },
    tried: { user: '1/60s', shadow: true },
    rolled: { user: '9/60s', enforce: '10%' },
  },
  routes: { '/things/{id}': 'things', '/open/**': 'open', '/tried': 'tried', '/rolled': 'rolled' },
  invalid_requests: { limit: '4/60s', restrict_for: '60s' },
};
/** Its service cannot be reached. */
const start = async () => startLimited(limits, { api: { url: `http://127.0.0.1:${await freePort()}` } });

describe('/status in a browser', () => {
  beforeAll(installBrowser);

  test('updates itself without being loaded anew', async () => {
    const front = await start();
    const page = await (await startBrowser()).open(`http://127.0.0.1:${front.gateway.adminPort}/status`);
    await page.run('window.isFirst = true;');
    const shown = () => page.run<string>('return document.querySelector("main").innerText');
    expect(await shown()).not.toContain('127.0.0.1\taddress');
    await askTimes(front, 4, 'GET /open/1');
    await expect.poll(shown).toMatch(/127\.0\.0\.1\s+address\s+open\s+1\s/);
    expect(await page.run('return [window.isFirst, document.getElementById("live").innerText]')).toEqual([
      true,
      'updates itself',
    ]);
    expect(await page.run('return getComputedStyle(document.querySelector("h1")).marginTop')).toBe('0px');
  });

  test('is loaded anew every few seconds where scripts do not run', async () => {
    const front = await start();
    const browser = await startBrowser();
    const page = await browser.open('about:blank');
    await page.allowScripts(false);
    await page.goTo(`http://127.0.0.1:${front.gateway.adminPort}/status`);
    await askTimes(front, 4, 'GET /open/1');
    await expect
      .poll(() => page.run('return document.querySelector("main").innerText'))
      .toMatch(/127\.0\.0\.1\s+address\s+open\s+1\s/);
  });

  test('fits a phone, and is dark where that is preferred', async () => {
    const front = await start();
    await askTimes(front, 4, 'GET /open/1');
    const page = await (await startBrowser()).open(`http://127.0.0.1:${front.gateway.adminPort}/status`);
    const ground = () => page.run<string>('return getComputedStyle(document.body).backgroundColor');
    await page.look({ width: 1200, dark: false });
    expect(await ground()).toBe('rgb(246, 247, 249)');
    await page.look({ width: 390, dark: true });
    expect(await ground()).toBe('rgb(16, 20, 24)');
    expect(await page.run('return document.documentElement.scrollWidth')).toBe(390);
    const tables = await page.run(
      'return [...document.querySelectorAll("table.list")].map(t => t.scrollWidth <= t.clientWidth)',
    );
    expect(tables).not.toContain(false);
  });
});
