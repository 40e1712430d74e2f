import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import { type Demo, type StartIdentityProvider, startDemo } from '../../src/cli/demo/demo.ts';
import { demoRealm, KeycloakAdmin } from '../../src/cli/demo/keycloak-realm.ts';
import { walkSignIn } from '../../src/cli/demo/sign-in-flow.ts';
import { makeLogger } from '../../src/observe/index.ts';
import { installBrowser, type Page, startBrowser } from '../support/browser.ts';

/** The Keycloak of all tests, with the demo's realm. */
const startProvider: StartIdentityProvider = async ({ redirectUri }) => {
  const origin = inject('keycloakOrigin');
  const realm = await demoRealm({ name: 'demo', redirectUris: [redirectUri] });
  await new KeycloakAdmin(origin).createRealm(realm);
  return { issuer: `${origin}/realms/${realm['realm']}`, close: async () => {} };
};

let demo: Demo;
let home: string;
beforeAll(async () => {
  installBrowser();
  const silent = makeLogger('silent', { write: () => undefined });
  demo = await startDemo({ gateway: 0, admin: 0, provider: 0, backend: 0 }, silent, { startProvider });
  home = `http://127.0.0.1:${demo.ports.gateway}/app/`;
});
afterAll(() => demo.close());

const textOf = (page: Page, id: string) =>
  page.run<string>(`return document.getElementById('${id}').innerText`);
const click = (page: Page, id: string) => page.run(`document.getElementById('${id}').click()`);
/** The rows of a table, by the first cell. */
const rowsOf = async (page: Page, id: string) =>
  new Map(
    await page.run<[string, string][]>(
      `return [...document.querySelectorAll('#${id} tr')].map(row => [...row.cells].map(cell => cell.innerText))`,
    ),
  );

test('a person signs in from the demo’s page by Keycloak’s form, calls, refreshes and signs out', async () => {
  const page = await (await startBrowser()).open(home);
  expect(await textOf(page, 'state')).toContain('came through the gateway');

  await page.follow(() => click(page, 'sign-in'));
  expect(await page.run('return location.pathname')).toBe('/realms/demo/protocol/openid-connect/auth');
  await page.follow(() =>
    page.run(`
      document.querySelector('#username').value = 'alice';
      document.querySelector('#password').value = 'wonderland';
      document.querySelector('#kc-form-login').submit();
    `),
  );
  await expect.poll(() => textOf(page, 'state')).toBe('Signed in as alice.');
  expect(await page.run('return location.href')).toBe(home);
  const claims = await rowsOf(page, 'claims');
  expect(Object.fromEntries(claims)).toMatchObject({
    azp: 'gateway',
    aud: 'api',
    preferred_username: 'alice',
  });

  await click(page, 'call');
  await expect.poll(() => textOf(page, 'status')).toBe('POST /v1/channels/general/messages: 201 Created');
  expect(Object.fromEntries(await rowsOf(page, 'fields'))).toMatchObject({
    'x-ratelimit-limit': '3',
    'x-ratelimit-remaining': '2',
    'x-ratelimit-scope': 'user',
  });

  await click(page, 'refresh');
  await expect.poll(async () => (await rowsOf(page, 'claims')).get('jti')).not.toBe(claims.get('jti'));
  await click(page, 'sign-out');
  await expect.poll(() => textOf(page, 'state')).toBe('Signed out (204).');
});

test('the page shows the code to those who began a sign-in without it', async () => {
  const page = await (await startBrowser()).open(`${home}callback?code=a-code`);
  expect(await textOf(page, 'code')).toBe('a-code');
  expect(await page.run('return location.search')).toBe('');
});

test('the walk of the demo, request by request, finds every response as expected', async () => {
  const lines: unknown[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation(line => void lines.push(line));
  onTestFinished(() => log.mockRestore());
  expect(await walkSignIn(new URL(home).origin), lines.join('\n')).toBe(true);
});
