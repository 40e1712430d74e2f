import { cp, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { decodeJwt } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DEMO_CONFIG, type Demo, startDemo } from '../../src/cli/demo/demo.ts';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { welcome } from '../../src/cli/demo/run-demo.ts';
import { runCommandLine } from '../../src/cli/index.ts';
import { makeLogger } from '../../src/observe/index.ts';
import { replaceFile } from '../support/edit-config.ts';
import { realTime } from '../support/real-time.ts';
import { tempFolder } from '../support/temp.ts';

realTime('a demo goes by the clock of the machine, and is handed no other');

const FREE = { gateway: 0, admin: 0, provider: 0, backend: 0 };

/** A demo with files of its own, and what it logs. */
async function demo() {
  const folder = await tempFolder();
  await cp(dirname(DEMO_CONFIG), folder, { recursive: true });
  const lines: string[] = [];
  const log = makeLogger('info', { write: line => lines.push(line) });
  const running = await startDemo(FREE, log, { config: join(folder, 'gateway.yaml') });
  onTestFinished(() => running.close());
  return { demo: running, api: `http://127.0.0.1:${running.ports.gateway}`, folder, lines };
}

/** A person's browser, and the page at which a sign-in ends. */
class Browser {
  readonly #demo: Demo;
  readonly #cookies = new Map<string, string>();

  constructor(running: Demo) {
    this.#demo = running;
  }

  get #redirectUri(): string {
    return `http://127.0.0.1:${this.#demo.ports.gateway}/app/callback`;
  }

  /** Opens the page and signs in, where it is asked to. */
  signIn(url: string, username: string, password: string): Promise<{ code: string; location: string }> {
    return walkLogin(url, this.#redirectUri, username, password, this.#cookies);
  }

  async authorizeUrl(): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.#demo.ports.gateway}/v1/anonymous/authorize-url`);
    return ((await response.json()) as { url: string }).url;
  }

  /** The access token for a code. */
  async redeem(code: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.#demo.ports.gateway}/v1/anonymous/auth`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code, redirectUri: this.#redirectUri }),
    });
    expect(response.status).toBe(200);
    return ((await response.json()) as { accessToken: string }).accessToken;
  }

  async nameFor(code: string): Promise<unknown> {
    return decodeJwt(await this.redeem(code))['preferred_username'];
  }
}

describe('the pages of the demo’s provider', () => {
  test('let a second person sign in while the first is signed in', async () => {
    const { demo: running } = await demo();
    const browser = new Browser(running);
    const url = await browser.authorizeUrl();
    await browser.signIn(url, 'alice', 'wonderland');
    // The browser stays signed in: nobody is asked, and it is alice again.
    const again = await browser.signIn(url, 'bob', 'builder');
    expect(await browser.nameFor(again.code)).toBe('alice');
    const bob = await browser.signIn(`${url}&prompt=login`, 'bob', 'builder');
    expect(await browser.nameFor(bob.code)).toBe('bob');
  });

  test('say where to start again when a sign-in has expired', async () => {
    const { demo: running } = await demo();
    const origin = `http://127.0.0.1:${running.ports.provider}`;
    const expired = await fetch(`${origin}/realms/demo/login-actions/authenticate/gone`);
    expect(expired.status).toBe(400);
    const link = /<a href="([^"]*)">/.exec(await expired.text())?.[1] ?? expect.fail('no link');
    const browser = new Browser(running);
    const { code } = await browser.signIn(new URL(link, origin).href, 'bob', 'builder');
    expect(await browser.nameFor(code)).toBe('bob');
  });
});

test('the limit that the welcome names can be changed while the demo runs, and the next responses show it', async () => {
  const { demo: running, api, folder, lines } = await demo();
  const part = { port: 1, insteadOf: null };
  const text = welcome({ gateway: part, admin: part, provider: part, backend: part }, 'own');
  const [, file = '', before = '', after = ''] =
    /in (config\/demo\/\S+) replace (\S+) with (\S+) and save/.exec(text) ?? [];
  const browser = new Browser(running);
  const { code } = await browser.signIn(await browser.authorizeUrl(), 'alice', 'wonderland');
  const authorization = `Bearer ${await browser.redeem(code)}`;
  const limit = async () => {
    const url = `${api}/v1/channels/busy/messages`;
    const response = await fetch(url, { method: 'POST', headers: { authorization }, body: '{"text":"Hi"}' });
    return response.headers.get('x-ratelimit-limit');
  };
  expect(await limit()).toBe(before.split('/')[0]);

  const path = join(folder, file.replace('config/demo/', ''));
  const yaml = await readFile(path, 'utf8');
  expect(yaml.split(before)).toHaveLength(2);
  await replaceFile(path, yaml.replace(before, after));
  await expect.poll(limit).toBe(after.split('/')[0]);
  // Requests are served by it before that is said.
  await expect.poll(() => lines.join('')).toContain('the new configuration is in use');
});

test.each([
  ['check', [DEMO_CONFIG], /4 routes, 1 upstream/],
  ['check', ['--strict', DEMO_CONFIG], /4 routes, 1 upstream/],
  ['explain', ['POST', '/v1/channels/7/messages', DEMO_CONFIG], /messages\.write \(.*limits\.yaml:\d+\)/],
])('weir %s works on the demo’s files as they are (%#)', async (command, parameters, said) => {
  const texts: string[] = [];
  const write = (text: string) => void texts.push(text);
  const exitCode = await runCommandLine([command, ...parameters], { env: {}, out: write, err: write });
  expect([exitCode, texts.join('')]).toEqual([0, expect.stringMatching(said)]);
});
