import { makeLogger } from '../../observe/index.ts';
import { startDemo } from './demo.ts';
import { USUAL_PORTS } from './ports.ts';
import { demoIssuer, walkSignIn } from './sign-in-flow.ts';

/** How long to wait for a response: the port may belong to another program. */
const SEARCH_MS = 2_000;

/**
 * Walks through a sign-in and shows every request with its response. Uses the demo whose gateway listens at `port`. If `port` is
 * `null`, uses the demo at the usual port, or else starts one. Resolves to whether every response was as expected; rejects with an
 * `Error` for the user if there is no demo at `port`.
 */
export async function runFlow(port: number | null): Promise<boolean> {
  const gateway = `http://127.0.0.1:${port ?? USUAL_PORTS.gateway}`;
  if (await isDemo(gateway)) {
    console.log(`Using the demo at ${gateway}.`);
    return walk(gateway);
  }
  if (port !== null)
    throw new Error(`there is no demo at ${gateway}: start one in another terminal, or leave out --port`);
  return walkWithOwnDemo();
}

/** Whether the demo's gateway is running there; another program may be using its port. */
async function isDemo(gateway: string): Promise<boolean> {
  try {
    const url = `${gateway}/v1/anonymous/authorize-url`;
    const response = await fetch(url, { signal: AbortSignal.timeout(SEARCH_MS) });
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null && 'url' in body && demoIssuer(body.url) !== null;
  } catch {
    return false;
  }
}

async function walkWithOwnDemo(): Promise<boolean> {
  const ports = { gateway: 0, admin: 0, provider: 0, backend: 0 };
  const demo = await startDemo(ports, makeLogger('silent', { write: () => undefined }));
  const gateway = `http://127.0.0.1:${demo.ports.gateway}`;
  console.log(`No demo runs at the usual port, so this walk started its own at ${gateway}.`);
  try {
    return await walk(gateway);
  } finally {
    await demo.close();
  }
}

async function walk(gateway: string): Promise<boolean> {
  const good = await walkSignIn(gateway);
  console.log(
    good
      ? '\nEvery response was as expected.'
      : '\nSome responses were not as expected: see the lines with NO.',
  );
  return good;
}
