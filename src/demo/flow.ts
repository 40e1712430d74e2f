// `npm run demo:flow`: walks through a sign-in and shows every request with its response. Not part of the published package.
import { makeLogger } from '../observe/index.ts';
import { type Demo, startDemo } from './demo.ts';
import { FLOW_USAGE, readFlowFlags } from './flags.ts';
import { demoIssuer, walkSignIn } from './flow/index.ts';

/** `EX_USAGE` of sysexits.h. */
const EXIT_USAGE = 64;
const USUAL_PORT = 8080;
/** Gives up after this on something else that listens there. */
const SEARCH_MS = 2_000;

process.exitCode = await run(process.argv.slice(2));

async function run(parameters: readonly string[]): Promise<number> {
  const flags = readFlowFlags(parameters);
  if (typeof flags === 'string') {
    console.error(`${flags}\n\n${FLOW_USAGE}`);
    return EXIT_USAGE;
  }
  if (flags.help) {
    console.log(FLOW_USAGE);
    return 0;
  }
  const gateway = `http://127.0.0.1:${flags.port ?? USUAL_PORT}`;
  if (await isDemo(gateway)) {
    console.log(`Using the demo at ${gateway}.`);
    return walk(gateway);
  }
  if (flags.port !== null) {
    console.error(`there is no demo at ${gateway}: start one with npm start, or leave out --port`);
    return 1;
  }
  return walkWithOwnDemo();
}

/** Whether the demo's gateway runs there; another program may use its port. */
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

async function walkWithOwnDemo(): Promise<number> {
  let demo: Demo;
  try {
    const ports = { gateway: 0, admin: 0, provider: 0, backend: 0 };
    demo = await startDemo(ports, makeLogger('silent', { write: () => undefined }));
  } catch (error) {
    console.error(`the demo could not start: ${messageOf(error)}`);
    return 1;
  }
  const gateway = `http://127.0.0.1:${demo.ports.gateway}`;
  console.log(`No demo runs at the usual port, so this walk started its own at ${gateway}.`);
  try {
    return await walk(gateway);
  } finally {
    await demo.close();
  }
}

async function walk(gateway: string): Promise<number> {
  try {
    const good = await walkSignIn(gateway);
    console.log(
      good
        ? '\nEvery response was as expected.'
        : '\nSome responses were not as expected: see the lines with NO.',
    );
    return good ? 0 : 1;
  } catch (error) {
    console.error(messageOf(error));
    return 1;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
