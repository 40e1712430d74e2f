import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startDemo } from '../../src/cli/demo/demo.ts';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { choosePorts } from '../../src/cli/demo/ports.ts';
import { welcome } from '../../src/cli/demo/run-demo.ts';
import { makeLogger } from '../../src/observe/index.ts';
import { freePort } from '../support/free-port.ts';
import { realTime } from '../support/real-time.ts';
import { runWeir } from '../support/run-weir.ts';
import { waitFor } from '../support/wait.ts';

realTime('a demo goes by the clock of the machine, and is handed no other');

const run = promisify(execFile);

/** The demo as a process of its own. */
class Demo {
  readonly process: ChildProcess;
  readonly #exit: Promise<unknown[]>;
  output = '';
  errors = '';

  constructor(...parameters: string[]) {
    this.process = spawn(process.execPath, ['src/main.ts', 'demo', ...parameters]);
    this.#exit = once(this.process, 'close');
    this.process.stdout?.on('data', text => {
      this.output += text;
    });
    this.process.stderr?.on('data', text => {
      this.errors += text;
    });
  }

  /** Waits for the end of the welcome. */
  async ready(): Promise<void> {
    await waitFor('the demo says what to try', () => {
      if (this.process.exitCode !== null) throw new Error(`the demo ended: ${this.errors}`);
      return this.output.includes('Press Ctrl-C to stop everything');
    });
  }

  /** Exit code, when everything it wrote has come. */
  async exitCode(): Promise<unknown> {
    return (await this.#exit)[0];
  }

  get curlLines(): string[] {
    return [...this.output.matchAll(/^ +(curl .*)$/gm)].map(([, line]) => line ?? '');
  }

  /** Pastes the one of its lines that matches into a shell that has these variables. */
  async paste(pattern: RegExp, variables: Readonly<Record<string, string>> = {}): Promise<string> {
    const lines = this.curlLines.filter(candidate => pattern.test(candidate));
    if (lines.length !== 1) throw new Error(`${lines.length} lines match ${pattern}`);
    const env = { ...process.env, ...variables };
    return (await run('sh', ['-c', lines[0] ?? 'false'], { env })).stdout;
  }
}

/** Follows the lines of the demo as a reader would, up to where a token is in hand. */
async function signInByHand(demo: Demo): Promise<Record<string, unknown>> {
  const { url } = JSON.parse(await demo.paste(/authorize-url$/));
  const redirectUri = new URL(url).searchParams.get('redirect_uri') ?? '';
  const { code } = await walkLogin(url, redirectUri, 'alice', 'wonderland');
  return JSON.parse(await demo.paste(/\$CODE/, { CODE: code }));
}

describe('the demo', () => {
  let demo: Demo;

  /** What the reader of the demo's lines puts into variables of the shell. */
  const variables: Record<string, string> = {};

  beforeAll(async () => {
    const names = ['--port', '--admin-port', '--provider-port', '--backend-port'];
    const flags = await Promise.all(names.map(async name => [name, `${await freePort()}`]));
    demo = new Demo(...flags.flat());
    await demo.ready();
    variables['TOKEN'] = String((await signInByHand(demo))['accessToken']);
    variables['BOT_TOKEN'] = JSON.parse(await demo.paste(/client_credentials/)).access_token;
  });

  afterAll(() => demo.process.kill('SIGKILL'));

  function paste(pattern: RegExp): Promise<string> {
    return demo.paste(pattern, variables);
  }

  it('prints lines that all work when pasted', async () => {
    expect(demo.curlLines.length).toBeGreaterThan(10);
    const env = { ...process.env, ...variables, CODE: 'spent' };
    for (const line of demo.curlLines)
      await expect(run('sh', ['-c', line], { env }), line).resolves.toBeDefined();
  });

  it('names every variable that its lines need, and how to set it', () => {
    const needed = demo.curlLines.flatMap(line => [...line.matchAll(/\$(\w+)/g)].map(([, name]) => name));
    const named = [...demo.output.matchAll(/^ +(\w+)='paste [^']*here'$/gm)].map(([, name]) => name);
    expect(named).toEqual([...new Set(needed)]);
  });

  it('signs a user in, line by line', async () => {
    const response = await signInByHand(demo);
    expect(response).toMatchObject({ tokenType: 'Bearer', expiresIn: 300, scope: 'openid profile' });
  });

  it('sends a message with the token and lists it', async () => {
    const sent = JSON.parse(await paste(/TOKEN.*-d .*\/messages$/));
    expect(sent).toMatchObject({ channelId: 'general', text: 'Hello' });
    expect(JSON.parse(await paste(/TOKEN" http.*\/messages$/))).toContainEqual(sent);
  });

  it('takes no message without a token', async () => {
    expect(await paste(/-i http.*\/messages$/)).toMatch(
      /^HTTP\/1.1 401 .*WWW-Authenticate: Bearer.*"code":16,/s,
    );
  });

  it('refuses an invalid code', async () => {
    expect(await paste(/guessed/)).toMatch(/^HTTP\/1.1 400 .*"code":3,/s);
  });

  it('tells the backend who is calling, and drops forged fields', async () => {
    const { headers } = JSON.parse(await paste(/\$TOKEN.*echo$/));
    expect(headers).toEqual(
      expect.arrayContaining([
        `Authorization: Bearer ${variables['TOKEN']}`,
        'X-Auth-Username: alice',
        'X-Auth-Client: gateway',
        expect.stringMatching(/^X-Request-Id: ./),
        'X-Forwarded-For: 127.0.0.1',
        'Via: 1.1 weir',
      ]),
    );
    expect(headers.join('\n')).not.toMatch(/x-real-ip|root/i);
  });

  it('tells the backend that a bot calls', async () => {
    const { headers } = JSON.parse(await paste(/\$BOT_TOKEN.*echo$/));
    expect(headers).toContain('X-Auth-Client: demo-bot');
  });

  it('streams ticks to their end', async () => {
    expect(await paste(/ticks$/)).toContain('data: tick 5 of 5');
  });

  it('responds itself if no route matches or the path climbs', async () => {
    expect(await paste(/nowhere$/)).toMatch(/^HTTP\/1.1 404 .*"code":5,/s);
    expect(await paste(/\.\./)).toMatch(/^HTTP\/1.1 400 .*"code":3,/s);
  });

  it('is ready and counts requests', async () => {
    expect(await paste(/readyz$/)).toContain('ready');
    expect(await paste(/metrics$/)).toContain('weir_requests_total{');
  });

  it('logs each request as a line of JSON, and ends with 0 on SIGINT', async () => {
    demo.process.kill('SIGINT');
    expect(await demo.exitCode()).toBe(0);
    expect(demo.errors).toBe('');
    const lines = demo.output.split('\n').filter(line => line.startsWith('{'));
    expect(lines.map(line => JSON.parse(line).route)).toContain('/v1/**');
  });
});

describe('the ports of the demo', () => {
  it('change if the usual ones are taken, and the demo says so', async () => {
    const taken = createServer().listen(8080, '127.0.0.1');
    // Somebody else may have taken it already, which serves as well.
    await Promise.race([once(taken, 'listening'), once(taken, 'error').catch(() => null)]);
    onTestFinished(() => void taken.close());
    const chosen = await choosePorts({ gateway: null, admin: null, provider: null, backend: null });
    expect(chosen.gateway).toEqual({ port: expect.any(Number), insteadOf: 8080 });
    expect(welcome(chosen, 'own')).toContain('(port 8080 is taken)');
  });

  it('are not replaced where one was asked for', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { code, err } = await runWeir(['demo', '--port', `${port}`]);
    expect(code).toBe(1);
    expect(err).toBe(`weir demo: port ${port} is taken: choose another one, or leave it out\n`);
  });

  it('are all different, even if one part takes the usual port of another', async () => {
    const all = { gateway: null, admin: null, provider: null, backend: null };
    const chosen = await choosePorts({ ...all, backend: await freePort() });
    const usual = chosen.gateway.port;
    const { gateway, backend } = await choosePorts({ ...all, backend: usual });
    expect(backend).toEqual({ port: usual, insteadOf: null });
    expect(gateway.port).not.toBe(usual);
  });

  it('are not given to two parts', async () => {
    const port = `${await freePort()}`;
    const { code, err } = await runWeir(['demo', '--port', port, '--backend-port', port]);
    expect(code).toBe(1);
    expect(err).toBe(`weir demo: port ${port} is given twice: each part needs its own\n`);
  });

  it('are free again when one part could not start', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const address = taken.address();
    const provider = typeof address === 'object' && address !== null ? address.port : 0;
    const backend = await freePort();
    const silent = makeLogger('silent', { write: () => undefined });
    await expect(startDemo({ gateway: 0, admin: 0, provider, backend }, silent)).rejects.toThrow(
      'EADDRINUSE',
    );
    await once(taken.close(), 'close');
    const demo = await startDemo({ gateway: 0, admin: 0, provider, backend }, silent);
    expect(demo.ports).toMatchObject({ provider, backend });
    await demo.close();
  });
});

describe('the command line of the demo', () => {
  it.each([['--port', 'http'], ['--port', '70000'], ['--nonsense'], ['nonsense']])(
    'refuses %s %s and says where to look',
    async (...parameters) => {
      const { code, err } = await runWeir([
        'demo',
        ...parameters.filter(parameter => parameter !== undefined),
      ]);
      expect(code).toBe(64);
      expect(err).toMatch(/^weir demo: .+\nRun "weir demo --help" for usage\.\n$/);
    },
  );
});
