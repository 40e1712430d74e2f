// Draws docs/images/sign-in-*.png: a sign-in from the demo's page by Keycloak's form, in a real browser.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../bench/world/part.ts';
import { startDemo, startRealKeycloak } from '../src/cli/demo/demo.ts';
import { makeLogger } from '../src/observe/index.ts';
import { type Page, runBrowser } from '../test/support/browser-process.ts';
import { ensureInstalled } from '../test/support/installed.ts';

const IMAGES = join(import.meta.dirname, '../docs/images');
const HELP = `Draws the pictures of a sign-in in docs/images/, in a minute.

npm run draw:sign-in

Starts the demo with a real Keycloak, which it fetches by Maven the first time (Java 17 or newer), and ends it. Installs the
Debian packages "chromium" and "maven" if root may.
`;

const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } });
if (values.help) process.stdout.write(HELP);
else await draw();
process.exit();

async function draw(): Promise<void> {
  ensureInstalled({ command: 'chromium', versionArgs: ['--version'], packages: ['chromium'] });
  ensureInstalled({ command: 'mvn', versionArgs: ['--version'], packages: ['maven'] });
  const folder = await mkdtemp(join(tmpdir(), 'weir-sign-in-'));
  const silent = makeLogger('silent', { write: () => undefined });
  const ports = { gateway: 0, admin: 0, provider: await freePort(), backend: 0 };
  const demo = await startDemo(ports, silent, { startProvider: startRealKeycloak });
  const { browser, end } = runBrowser(join(folder, 'profile'));
  try {
    const page = await browser.open(`http://127.0.0.1:${demo.ports.gateway}/app/`);
    await page.look({ width: 900, dark: false });
    await signIn(page);
  } finally {
    await end();
    await demo.close();
    await rm(folder, { recursive: true });
  }
}

async function signIn(page: Page): Promise<void> {
  await takePicture(page, 'sign-in-page', 300);
  await page.follow(() => page.run(`document.getElementById('sign-in').click()`));
  await page.run(`
    document.querySelector('#username').value = 'alice';
    document.querySelector('#password').value = 'wonderland';
  `);
  await takePicture(page, 'sign-in-form', 620);
  await page.follow(() => page.run(`document.querySelector('#kc-form-login').submit()`));
  await sleep(1_000);
  await page.run(`document.getElementById('call').click()`);
  await sleep(1_000);
  await takePicture(page, 'sign-in-claims', 1_200);
}

async function takePicture(page: Page, name: string, maxHeight: number): Promise<void> {
  await writeFile(join(IMAGES, `${name}.png`), await page.picture(maxHeight));
}
