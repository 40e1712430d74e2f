import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);

/** The demo as a process of its own. */
class Demo {
  readonly process: ChildProcess;
  readonly #exit: Promise<unknown[]>;
  output = '';
  errors = '';

  constructor(...parameters: string[]) {
    this.process = spawn(process.execPath, ['src/demo/main.ts', ...parameters]);
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
    await waitFor(
      'the demo says what to try',
      () => {
        if (this.process.exitCode !== null) throw new Error(`the demo ended: ${this.errors}`);
        return this.output.includes('Ctrl-C stops everything');
      },
      20_000,
    );
  }

  /** Exit code, when everything it wrote has come. */
  async exitCode(): Promise<unknown> {
    return (await this.#exit)[0];
  }

  get curlLines(): string[] {
    return [...this.output.matchAll(/^ +(curl .*)$/gm)].map(([, line]) => line ?? '');
  }
}

describe('the demo', () => {
  let demo: Demo;

  beforeAll(async () => {
    const ports = [await freePort(), await freePort(), await freePort()];
    demo = new Demo('--port', `${ports[0]}`, '--admin-port', `${ports[1]}`, '--backend-port', `${ports[2]}`);
    await demo.ready();
  });

  afterAll(() => demo.process.kill('SIGKILL'));

  /** Pastes the one of its lines that matches into a shell. */
  async function paste(pattern: RegExp): Promise<string> {
    const line = demo.curlLines.find(candidate => pattern.test(candidate));
    if (line === undefined) throw new Error(`no line matches ${pattern}`);
    return (await run('sh', ['-c', line])).stdout;
  }

  it('shows lines that all work when they are pasted', async () => {
    expect(demo.curlLines.length).toBeGreaterThan(5);
    for (const line of demo.curlLines) await expect(run('sh', ['-c', line]), line).resolves.toBeDefined();
  });

  it('sends a message and lists it', async () => {
    const sent = JSON.parse(await paste(/-d .*\/messages$/));
    expect(sent).toMatchObject({ channelId: 'general', text: 'Hello' });
    expect(JSON.parse(await paste(/^curl http.*\/messages$/))).toContainEqual(sent);
  });

  it('shows the backend the gateway’s header fields and no forged one', async () => {
    const { headers } = JSON.parse(await paste(/echo$/));
    expect(headers).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^X-Request-Id: ./),
        'X-Forwarded-For: 127.0.0.1',
        'Via: 1.1 weir',
      ]),
    );
    expect(headers.join('\n')).not.toMatch(/x-real-ip/i);
  });

  it('streams ticks to their end', async () => {
    expect(await paste(/ticks$/)).toContain('data: tick 5 of 5');
  });

  it('answers by itself where there is no route and where the path climbs', async () => {
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
  it('are others where the usual ones are taken, and it says so', async () => {
    const taken = createServer().listen(8080, '127.0.0.1');
    // Somebody else may have taken it already, which serves as well.
    await Promise.race([once(taken, 'listening'), once(taken, 'error').catch(() => null)]);
    onTestFinished(() => void taken.close());
    const demo = new Demo();
    onTestFinished(() => void demo.process.kill('SIGKILL'));
    await demo.ready();
    expect(demo.output).toContain('(port 8080 is taken)');
    await expect(
      run('sh', ['-c', demo.curlLines.find(line => line.includes('/echo')) ?? 'false']),
    ).resolves.toBeDefined();
  });

  it('are not replaced where one was asked for', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const demo = new Demo('--port', `${port}`);
    expect(await demo.exitCode()).toBe(1);
    expect(demo.errors).toBe(`port ${port} is taken: choose another one, or none at all\n`);
  });
});

describe('the command line of the demo', () => {
  it.each([['--port', 'http'], ['--port', '70000'], ['--nonsense'], ['nonsense']])(
    'refuses %s %s and shows what it takes',
    async (...parameters) => {
      const demo = new Demo(...parameters.filter(parameter => parameter !== undefined));
      expect(await demo.exitCode()).toBe(64);
      expect(demo.errors).toContain('--admin-port N');
    },
  );

  it('shows what it takes when asked', async () => {
    const demo = new Demo('--help');
    expect(await demo.exitCode()).toBe(0);
    expect(demo.output).toContain('--admin-port N');
  });
});
