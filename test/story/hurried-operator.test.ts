import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { secret } from '../support/secrets.ts';
import { tempFolder } from '../support/temp.ts';

const GATEWAY = await readFile('config/gateway.yaml', 'utf8');
const LIMITS = await readFile('config/limits.yaml', 'utf8');
const ENV = { OIDC_CLIENT_SECRET: secret('what-the-variable-holds') };

type Content = string | Buffer;

/** What `weir check` prints of these two files, without the folder, and its exit code. */
async function check(gateway: Content, limits: Content = LIMITS, env: Record<string, string> = ENV) {
  const folder = await tempFolder();
  await writeFile(join(folder, 'gateway.yaml'), gateway);
  await writeFile(join(folder, 'limits.yaml'), limits);
  return checkIn(folder, 'gateway.yaml', env);
}

async function checkIn(folder: string, name: string, env: Record<string, string> = ENV) {
  const printed: string[] = [];
  const terminal = {
    env,
    out: (text: string) => printed.push(text),
    err: (text: string) => printed.push(text),
  };
  const code = await runCommandLine(['check', join(folder, name)], terminal);
  const out = printed.join('');
  const [summary, ...lines] = out.replaceAll(`${folder}/`, '').trimEnd().split('\n').toReversed();
  expect(out).not.toContain(ENV.OIDC_CLIENT_SECRET);
  return { code, diagnostics: lines.toReversed(), summary };
}

/** A file with `from`, which must be there, in other words. */
function edited(text: string, from: string | RegExp, to: string): string {
  const result = text.replace(from, to);
  if (result === text) throw new Error(`${from} is not in the file`);
  return result;
}

/** The line of a file, from 1, that holds this. */
function lineOf(text: string, part: string): number {
  return text.slice(0, text.indexOf(part)).split('\n').length;
}

// The places in the shipped files that are broken below.
const _ISSUER = 'issuer: https://id.example.com/realms/main';
const CLIENT_ID = 'client_id: gateway';
const _UPSTREAM_URL = 'url: http://127.0.0.1:3000';
const QUOTA = 'user: 5/5s';
const LIMIT_ROUTE = 'POST /v1/anonymous/auth: sign-in';

describe('the shipped files', () => {
  it('are sound', async () => {
    expect(await check(GATEWAY)).toMatchObject({ code: 0, diagnostics: [] });
  });

  it.each([
    ['a byte order mark', (text: string) => `\ufeff${text}`],
    ['Windows line ends', (text: string) => text.replaceAll('\n', '\r\n')],
    ['no line end at the end', (text: string) => text.trimEnd()],
    ['a leading "---"', (text: string) => `---\n${text}`],
  ])('are sound with %s', async (_, change) => {
    expect(await check(change(GATEWAY), change(LIMITS))).toMatchObject({ code: 0, diagnostics: [] });
  });
});

describe('an operator in a hurry who breaks gateway.yaml', () => {
  const at = (part: string) => lineOf(GATEWAY, part);

  it.each<[string, string | RegExp, string, (string | RegExp)[]]>([
    [
      'loses an indent',
      '  admin:\n    address: 127',
      'admin:\n    address: 127',
      [`gateway.yaml:${at('  admin:')}:1: unknown key "admin": it belongs in "listen"`],
    ],
    [
      'forgets the end of a quote',
      CLIENT_ID,
      'client_id: "gateway',
      [new RegExp(`^gateway.yaml:${at(CLIENT_ID)}:\\d+: a quote is not closed$`)],
    ],
    [
      'writes a glob',
      'path: /v1/**',
      'path: /v1/*',
      [/path: write "\{name\}" for one segment, "\*\*" alone at the end for the rest/],
    ],
    [
      'misspells the file of limits',
      'limits: limits.yaml',
      'limits: limit.yaml',
      [/limits: no such file \(limit\.yaml\)$/],
    ],
  ])('%s', async (_, from, to, expected) => {
    const { code, diagnostics } = await check(edited(GATEWAY, from, to));
    expect(code).toBe(1);
    for (const diagnostic of diagnostics) expect(diagnostic).toMatch(/^(gateway|limits)\.yaml:\d+:\d+: /);
    const errors = diagnostics.filter(diagnostic => !/: (warning|hint): /.test(diagnostic));
    expect(errors).toEqual(
      expected.map(each => (typeof each === 'string' ? each : expect.stringMatching(each))),
    );
  });
});

describe('an operator in a hurry who breaks limits.yaml', () => {
  const at = (part: string) => lineOf(LIMITS, part);

  it.each<[string, string | RegExp, string, string | RegExp]>([
    [
      'forgets the space before a quota',
      QUOTA,
      'user:5/5s',
      new RegExp(`^limits.yaml:${at(QUOTA)}:\\d+: this is not valid YAML: `),
    ],
    [
      'misspells a bucket',
      LIMIT_ROUTE,
      'POST /v1/anonymous/auth: signin',
      /no bucket is named "signin", did you mean "sign-in"\?$/,
    ],
    [
      'writes a list for the routes',
      /^routes:\n(.*\n)+?(?=\n# )/m,
      'routes:\n  - /v1/**: everything-else\n',
      /routes: expected a map such as \{ GET \/v1\/messages: messages \}, found a list$/,
    ],
  ])('%s', async (_, from, to, expected) => {
    const { code, diagnostics } = await check(GATEWAY, edited(LIMITS, from, to));
    expect(code).toBe(1);
    const errors = diagnostics.filter(diagnostic => !/: (warning|hint): /.test(diagnostic));
    expect(errors).toEqual([typeof expected === 'string' ? expected : expect.stringMatching(expected)]);
    expect(errors[0]).toMatch(/^limits\.yaml:\d+:\d+: /);
  });
});

describe('an operator who put something else in the place of the file reads what it is', () => {
  const TEXT = 'gateway.yaml:1:1: expected a map of keys, found text';

  it.each<[string, Content, string]>([
    ['a file of variables', `OIDC_CLIENT_SECRET=${ENV.OIDC_CLIENT_SECRET}\n`, TEXT],
    [
      'limits.yaml',
      LIMITS,
      `gateway.yaml:${lineOf(LIMITS, '\nglobal:') + 1}:1: this is a limits file: name the gateway.yaml that refers to it under "limits"`,
    ],
    [
      'a log of many megabytes',
      Buffer.alloc(5_000_000, 'x'),
      'gateway.yaml: the file is larger than 1 MiB: is this the right file?',
    ],
  ])('%s', async (_, content, expected) => {
    const { code, diagnostics } = await check(content);
    expect({ code, diagnostics }).toEqual({ code: 1, diagnostics: [expect.stringContaining(expected)] });
  });

  it('for a directory, for nothing, and for a link to nothing', async () => {
    const folder = await tempFolder();
    await mkdir(join(folder, 'config'));
    await symlink('gone.yaml', join(folder, 'link.yaml'));
    expect((await checkIn(folder, 'config')).diagnostics).toEqual([
      'config: this is a directory, expected a file',
    ]);
    for (const name of ['none.yaml', 'link.yaml', 'config/none.yaml'])
      expect((await checkIn(folder, name)).diagnostics).toEqual([`${name}: no such file (${name})`]);
  });

  it('for a variable that is not set', async () => {
    expect((await check(GATEWAY, LIMITS, {})).diagnostics).toEqual([
      `gateway.yaml:${lineOf(GATEWAY, '"${OIDC')}:18: the environment variable OIDC_CLIENT_SECRET is not set`,
    ]);
  });
});
