import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { logLine } from '../support/log-line.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-wrong-input-'));
  const lines = Array.from({ length: 400 }, (_, i) => logLine(i, { caller: `c${i * 7_919}` })).join('');
  const whole = gzipSync(lines);
  const files = {
    'limits.yaml': 'global: { user: 5/1s }\n',
    'empty.log': '',
    'other.log': '{"level":"info","type":"reload"}\n'.repeat(3),
    'junk.log': Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * i * 31) % 256)),
    'cut.gz': whole.subarray(0, whole.length - 100),
    'one.log': 'hello\n',
    'gateway.yaml': 'upstreams: {}\nroutes: []\nlimits: other.yaml\n',
    'stub.gz': whole.subarray(0, 12),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  await mkdir(join(folder, 'folder'));
});

afterAll(() => rm(folder, { recursive: true }));

async function weir(...words: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const named = words.map(word => (/\.\w+$|^folder$/.test(word) ? join(folder, word) : word));
  const code = await runCommandLine(named, {
    env: {},
    out: text => void out.push(text),
    err: text => void err.push(text),
  });
  const lines = err.join('').replaceAll(`${folder}/`, '').split('\n');
  return { code, out: out.join(''), said: lines[0], more: lines.slice(1) };
}

const ASK = 'name the log that a gateway wrote with log.access: true';
const SUGGEST = ['suggest', '--limits', 'limits.yaml'];
const SIMULATE = ['simulate', '--limits', 'limits.yaml'];

describe('wrong input', () => {
  it.each<[string, readonly string[], number, string | RegExp]>([
    ['a log that is missing', [...SUGGEST, 'none.log'], 1, 'weir suggest: none.log: no such file or folder'],
    [
      'a folder as log',
      [...SUGGEST, 'folder'],
      1,
      'weir suggest: folder is a folder: name the logs in it, such as folder/*.log',
    ],
    ['an empty log', [...SUGGEST, 'empty.log'], 1, `weir suggest: the log is empty: ${ASK}`],
    ['an empty log', [...SIMULATE, 'empty.log'], 1, `weir simulate: the log is empty: ${ASK}`],
    [
      'a log without decisions',
      [...SUGGEST, 'other.log'],
      1,
      `weir suggest: none of the 3 lines holds a decision of the limits: ${ASK}`,
    ],
    [
      'a log of one other line',
      [...SUGGEST, 'one.log'],
      1,
      `weir suggest: its only line is not from the access log of a gateway: ${ASK}`,
    ],
    [
      'binary junk',
      [...SUGGEST, 'junk.log'],
      1,
      /^weir suggest: its only line is not from the access log of a gateway: name the log/,
    ],
    [
      'binary junk',
      [...SIMULATE, '--format', 'json', 'junk.log'],
      1,
      /^weir simulate: its only line is not from the access log/,
    ],
    [
      'a gzip that ends at once',
      [...SUGGEST, 'stub.gz'],
      1,
      `weir suggest: the log is empty (read only up to damaged data: stub.gz: unexpected end of file): ${ASK}`,
    ],
    [
      'a picture in no folder',
      [...SUGGEST, '--svg', 'nowhere/a.svg', 'cut.gz'],
      1,
      'weir suggest: nowhere/a.svg: no such file or folder',
    ],
    [
      'a folder to write to',
      [...SUGGEST, '--write', 'folder', 'cut.gz'],
      1,
      'weir suggest: folder: is a folder: name a file',
    ],
    [
      'a percentile of no use',
      [...SUGGEST, '--percentile', '42', 'cut.gz'],
      64,
      'weir suggest: --percentile takes 50, 95, 99, 99.9 or 100, not "42"',
    ],
    [
      'a store that is misspelt',
      [...SIMULATE, '--store', 'rediss', 'cut.gz'],
      64,
      'weir simulate: --store takes memory or redis, not "rediss", did you mean "redis"?',
    ],
    [
      'a format of another command',
      [...SIMULATE, '--format', 'yaml', 'cut.gz'],
      64,
      'weir simulate: --format takes text or json, not "yaml"',
    ],
    ['no limits', ['simulate', 'cut.gz'], 64, 'weir simulate: missing --limits: name the limits.yaml to try'],
    [
      'no limits',
      ['suggest', 'cut.gz'],
      64,
      'weir suggest: missing --limits: name the limits.yaml to find numbers for',
    ],
    [
      'nonsense as address',
      ['who', '--address', 'nonsense'],
      64,
      'weir who: --address takes an IP address, not "nonsense"',
    ],
    [
      'limits as tests',
      ['test', 'limits.yaml'],
      78,
      'limits.yaml:1:1: this is a limits file: name a file of tests, which may name this one under "limits"',
    ],
    [
      'a gateway.yaml as limits',
      ['suggest', '--limits', 'gateway.yaml', 'cut.gz'],
      78,
      'gateway.yaml:1:1: this is a gateway.yaml: name the limits that it refers to, other.yaml',
    ],
    [
      'a gateway.yaml as limits',
      ['simulate', '--limits', 'gateway.yaml', 'cut.gz'],
      78,
      'gateway.yaml:1:1: this is a gateway.yaml: name the limits that it refers to, other.yaml',
    ],
    [
      'a gateway.yaml as tests',
      ['test', 'gateway.yaml'],
      78,
      'gateway.yaml:1:1: this is a gateway.yaml: name a file of tests, which may name this one under "gateway"',
    ],
    [
      'limits in place of a gateway.yaml',
      ['health', 'limits.yaml'],
      1,
      'weir health: limits.yaml: this is a limits file: name the gateway.yaml that refers to it',
    ],
    ['no path', ['explain', 'GET'], 64, 'weir explain: missing PATH: name METHOD PATH [FILE]'],
  ])('of %s: one line says what to do', async (_, words, code, said) => {
    const ended = await weir(...words);
    expect(ended).toMatchObject({ code, out: '' });
    expect(ended.said).toEqual(typeof said === 'string' ? said : expect.stringMatching(said));
    // Only the hint at the help of the command.
    const hint = `Run "weir ${words[0]} --help" for usage.`;
    expect(ended.more.filter(line => line !== '')).toEqual(code === 64 ? [hint] : []);
  });

  it('of a gzip that ends early counts as far as it was read, and the last line says so', async () => {
    for (const words of [SUGGEST, SIMULATE]) {
      const { code, out, said } = await weir(...words, 'cut.gz');
      expect([code, said]).toEqual([0, '']);
      expect(out).toMatch(/read only up to damaged data: \S*cut\.gz: unexpected end of file\.\n$/);
    }
  });
});
