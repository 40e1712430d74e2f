import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { LimitWatch, readRateHeaders } from '../../scripts/load/limit-watch.ts';
import { readOptions } from '../../scripts/load/options.ts';
import { CHECKOUT } from '../support/documents.ts';
import { freePort } from '../support/free-port.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { tempFolder, tempText } from '../support/temp.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { startUpstream } from '../support/wire/index.ts';

const FOLDER = join(CHECKOUT, 'scripts/load');

function load(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, [join(FOLDER, 'main.ts'), ...args], (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

describe('the load test', () => {
  it('counts exactly what a gateway admits to each caller, in words, as JSON and as a picture', async () => {
    const issuer = await startIssuer();
    const limits = { buckets: { things: { user: '2/1h' } }, routes: { 'GET /things': 'things' } };
    const { gateway } = await startGatewayOf(issuer, { limits });
    const tokens = ['alice', 'bob', 'carol'].map(sub => issuer.token({ sub }));
    const two = await tempText('two.txt', `${tokens.slice(0, 2).join('\n')}\n`);
    const one = await tempText('one.txt', tokens[2] ?? '');
    const folder = await tempFolder();
    const [json, svg] = [join(folder, 'load.json'), join(folder, 'load.svg')];
    const { code, out } = await load(
      ...['--url', `http://127.0.0.1:${gateway.port}/things`, '--token-file', two, '--token-file', one],
      // Seven of the ninety requests are enough, since a busy machine may answer few.
      ...['--rate', '30', '--connections', '6', '--duration', '3s', '--json', json, '--svg', svg],
    );
    const result = JSON.parse(readFileSync(json, 'utf8'));
    expect(code).toBe(0);
    expect(result).toMatchObject({
      callers: 3,
      ok: 6,
      held: true,
      errors: 0,
      limitedBy: { user: result.limited },
      statuses: { 200: 6, 429: result.responses - 6 },
      buckets: [{ callers: 3, limit: 2, windows: 3, most: 2, allowed: 2, held: true }],
    });
    expect(result.limited).toBeGreaterThan(0);
    expect(out).toMatch(/ {2}2xx +6 +\d+\.\d %\n/);
    expect(out).toContain('held to the unit');
    expect(out).toContain('limit 2, 3 callers, 3 windows, at most 2 of 2 admitted');
    expect(readFileSync(svg, 'utf8')).toMatch(
      /^<svg(?:.|\n)*limits held to the unit(?:.|\n)*class="limited"(?:.|\n)*<\/svg>\n$/,
    );
    for (const token of tokens) expect(out + JSON.stringify(result)).not.toContain(token);
  });

  it('says so when a limit admits too much, and ends with 1', async () => {
    const fields = [
      'Limit',
      '2',
      'Remaining',
      '1',
      'Reset',
      '1795338450.985',
      'Reset-After',
      '0.900',
      'Bucket',
      'b',
    ];
    const upstream = await startUpstream(async exchange => {
      await exchange.received();
      await exchange.answer(
        200,
        fields.map((text, i) => (i % 2 === 0 ? `X-RateLimit-${text}` : text)),
        'ok',
      );
    });
    const { code, out } = await load(
      '--url',
      `http://127.0.0.1:${upstream.port}/`,
      '--rate',
      '20',
      '--duration',
      '1s',
    );
    expect(out).toMatch(/NOT HELD\n.*1 window, at most \d+ of 2 admitted {2}TOO MANY/);
    expect(code).toBe(1);
  });

  it('says what to do when nothing is there, and ends with 1', async () => {
    const { code, err } = await load(
      '--url',
      `http://127.0.0.1:${await freePort()}/`,
      '--rate',
      '5',
      '--duration',
      '1s',
    );
    expect(err).toContain('The gateway was not reached: is the URL right, and is it running?');
    expect(code).toBe(1);
  });

  it('says what is wrong with a command line, never showing a token', async () => {
    const secret = await tempText('bad.txt', 'Bearer abc.def\n');
    const two = await tempText('two.txt', 'a\nb\n');
    const url = ['--url', 'http://a/'];
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [[], 'missing --url'],
      [['--url', 'localhost'], 'not a URL of http or https'],
      [[...url, '--rat', '5'], "Unknown option '--rat'"],
      [[...url, '--rate', 'many'], 'not a whole number'],
      [[...url, '--duration', '5 minutes'], 'not a time such as 30s or 5m'],
      [[...url, '--token-file', '/nowhere'], 'cannot be read: ENOENT'],
      [[...url, '--token-file', secret], 'without "Bearer"'],
      [[...url, '--token-file', two, '--connections', '1'], 'less than one for each of 2 callers'],
      [
        [...url, '--token-file', two, '--rate', '1'],
        'less than one request per second for each of 2 callers',
      ],
      [[...url, '--header', 'Accept'], 'write "Name: value"'],
    ];
    for (const [args, message] of wrong) expect(() => readOptions(args)).toThrow(message);
    expect(() => readOptions([...url, '--token-file', secret])).not.toThrow('abc.def');
    expect(await load('--url', 'x')).toMatchObject({ code: 64, err: expect.stringContaining('--help') });
  });

  it('describes every option in its help', async () => {
    const { code, out } = await load('--help');
    const options =
      readFileSync(join(FOLDER, 'options.ts'), 'utf8').match(/^ {4}'?[\w-]+'?: \{ type/gm) ?? [];
    expect(options.length).toBeGreaterThan(10);
    for (const option of options) {
      const name = option.replaceAll(/[\s':{]|type/g, '');
      if (name !== 'help') expect(out).toContain(`  --${name} `);
    }
    expect(code).toBe(0);
  });
});

/** What a response with these figures means to the watch. */
function response(limit: number, remaining: number, reset: string, resetAfterS: number) {
  return { limit, remaining, reset, resetAfterS, bucket: 'b' };
}

describe('the watch over limits', () => {
  it('counts requests in the slack before a Reset against the window that they open', () => {
    const watch = new LimitWatch();
    for (const remaining of [1, 0]) watch.admitted(0, response(2, remaining, '10.000', 0.9), 0, 0);
    watch.admitted(0, response(2, 0, '10.000', 0.01), 900, 900);
    watch.admitted(0, response(2, 0, '11.000', 0.9), 1_000, 1_000);
    watch.admitted(0, response(2, 1, '12.000', 0.9), 2_000, 2_000);
    expect(watch.report()).toMatchObject([{ windows: 3, most: 2, allowed: 2, held: true }]);
    watch.admitted(0, response(2, 0, '11.000', 0.9), 1_100, 1_100);
    watch.admitted(0, response(2, 1, '11.000', 0.9), 1_100, 1_100);
    expect(watch.report()).toMatchObject([{ held: false }]);
  });

  it('bounds a smooth limit by its burst and what has come back since', () => {
    const admit = (count: number) => {
      const watch = new LimitWatch();
      for (let i = 0; i < count; i++) watch.admitted(0, response(5, 4, `10.${100 + i}`, 0.2), i, 1_000);
      return watch.report()[0];
    };
    expect(admit(11)).toMatchObject({ windows: null, most: 11, allowed: 11, held: true });
    expect(admit(12)).toMatchObject({ held: false });
  });

  it('judges what a gateway without its Redis admits by the share that it names', () => {
    const smooth = new LimitWatch();
    for (let i = 0; i < 11; i++) smooth.admitted(0, response(5, 4, `10.${100 + i}`, 0.2), i, 1_000);
    for (let i = 0; i < 3; i++) smooth.admitted(0, response(2, 1, `10.${200 + i}`, 0.5), i, 1_000);
    expect(smooth.report()).toMatchObject([{ callers: 1, limit: 5, windows: null, most: 11, held: true }]);
    const fixed = new LimitWatch();
    const admit = (limit: number, reset: string, times: number) => {
      for (let i = 0; i < times; i++) fixed.admitted(0, response(limit, limit - 1 - i, reset, 0.5), 0, 0);
    };
    admit(4, '10.000', 4);
    admit(2, '10.300', 2);
    admit(4, '11.000', 4);
    expect(fixed.report()).toMatchObject([{ callers: 1, limit: 4, windows: 3, held: true }]);
    admit(2, '10.600', 3);
    expect(fixed.report()).toMatchObject([{ most: 3, allowed: 2, held: false }]);
  });

  it('tells callers apart, and reads the headers whatever their case', () => {
    const fields = ['x-ratelimit-limit', '1', 'X-RateLimit-Remaining', '0', 'X-RateLimit-Reset', '10.000'];
    expect(readRateHeaders(fields)).toBeNull();
    const rate = readRateHeaders([...fields, 'X-RateLimit-Reset-After', '1.000', 'X-RateLimit-Bucket', 'b']);
    if (rate === null) throw new Error('a bucket is named');
    const watch = new LimitWatch();
    for (const caller of [0, 1]) watch.admitted(caller, rate, 0, 0);
    expect(watch.report()).toMatchObject([{ callers: 2, windows: 2, most: 1, held: true }]);
  });
});

describe('the Job of the chart', () => {
  it('runs a folder that needs nothing but autocannon, at the version tested here, with options that exist', async () => {
    const manifest = parse(readFileSync(join(CHECKOUT, 'helm/weir/examples/load-job.yaml'), 'utf8'));
    const [{ command, args }] = manifest.spec.template.spec.containers;
    const sources = readdirSync(FOLDER).map(name => readFileSync(join(FOLDER, name), 'utf8'));
    const imported = sources.flatMap(source =>
      Array.from(source.matchAll(/ from '([^']+)'/g), ([, name = '']) => name),
    );
    expect(imported.filter(name => !/^(?:node:|\.\/[\w-]+\.ts$|autocannon$)/.test(name))).toEqual([]);
    const { devDependencies } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'));
    expect(command.join(' ')).toContain(`autocannon@${devDependencies.autocannon} `);
    const tokens = await tempText('tokens', 'a\n');
    const options = args.map((arg: string) => arg.replace('/tokens/tokens', tokens));
    expect(readOptions(options)).toMatchObject({ url: 'http://weir/v1/things', rate: 200, seconds: 60 });
  });
});
