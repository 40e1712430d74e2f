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
const ISSUER = 'issuer: https://id.example.com/realms/main';
const CLIENT_ID = 'client_id: gateway';
const UPSTREAM_URL = 'url: http://127.0.0.1:3000';
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
      'indents a key too far',
      `  ${CLIENT_ID}`,
      `    ${CLIENT_ID}`,
      [
        `gateway.yaml:${at(CLIENT_ID)}:5: this line is indented by 4, which matches no line above it: indent it like the keys next to it`,
      ],
    ],
    [
      'loses an indent',
      '  admin:\n    address: 127',
      'admin:\n    address: 127',
      [`gateway.yaml:${at('  admin:')}:1: unknown key "admin": it belongs in "listen"`],
    ],
    [
      'indents by a tab',
      `  ${CLIENT_ID}`,
      `\t${CLIENT_ID}`,
      [`gateway.yaml:${at(CLIENT_ID)}:1: a tab indents this line: use spaces`],
    ],
    [
      'forgets the space after a ":"',
      CLIENT_ID,
      'client_id:gateway',
      [`gateway.yaml:${at(CLIENT_ID)}:12: write a space after this ":"`],
    ],
    [
      'leaves a merge behind',
      `  ${CLIENT_ID}`,
      `<<<<<<< HEAD\n  ${CLIENT_ID}\n=======\n  client_id: weir\n>>>>>>> main`,
      [/:\d+:1: a merge stopped here: keep one of the two sides, and remove the lines with/],
    ],
    [
      'doubles a key',
      CLIENT_ID,
      `${CLIENT_ID}\n  ${CLIENT_ID}`,
      [`gateway.yaml:${at(CLIENT_ID) + 1}:3: the key "client_id" is already there, in line ${at(CLIENT_ID)}`],
    ],
    [
      'doubles a section',
      'cors:\n',
      'log: {}\ncors:\n',
      [/:\d+:1: the key "log" is already there, in line \d+/],
    ],
    [
      'does not close a quote',
      CLIENT_ID,
      'client_id: "gateway',
      [`gateway.yaml:${at(CLIENT_ID)}:14: the quote that opens here is not closed: write " at its end`],
    ],
    [
      'does not close a bracket',
      'trusted_proxies: none',
      'trusted_proxies: [10.1.0.0/16',
      [/:\d+:18: this "\[" is not closed: write "\]" at its end/],
    ],
    [
      'leaves a template unfilled',
      CLIENT_ID,
      'client_id: {{ .Values.clientId }}',
      [/"\{\{" belongs to a template that nothing has filled in/],
    ],
    [
      'writes a parameter in braces without quotes',
      '  - path: /v1/reports/{report_id}\n',
      '  - { path: /v1/reports/{report_id}, upstream: api }\n',
      [/inside \{ \} or \[ \] a value with braces or brackets of its own must be in quotes/],
    ],
    [
      'writes a map for the list of routes',
      /^routes:\n(.*\n)+?(?=\n# )/m,
      'routes:\n  /v1/**: api\n',
      [/:3: routes: expected a list of routes, each of which begins with "- path:", found a map$/],
    ],
    [
      'writes a text for an upstream',
      /api:\n( {4}.*\n|\s*#.*\n)*/,
      'api: http://127.0.0.1:3000\n\n',
      [
        /upstreams\.api: expected a map such as \{ url: "http:\/\/api\.internal:3000" \}, found text, did you mean \{ url: "http:\/\/127\.0\.0\.1:3000" \}\?$/,
      ],
    ],
    [
      'writes a text for a list',
      'trusted_proxies: none',
      'trusted_proxies: 10.0.0.0/8',
      [
        /trusted_proxies: expected the word none, or a list of networks such as \[10\.1\.0\.0\/16\], found "10\.0\.0\.0\/8", did you mean \[10\.0\.0\.0\/8\]\?$/,
      ],
    ],
    [
      'writes a regular expression',
      'path: /v1/**',
      'path: ^/v1/.*$',
      [/path: a path is not a regular expression: write "\/v1\/\*\*"$/],
    ],
    [
      'writes a glob',
      'path: /v1/**',
      'path: /v1/*',
      [/path: write "\{name\}" for one segment, "\*\*" alone at the end for the rest/],
    ],
    [
      'writes a route twice',
      /path: \/v1\/reports\/\{report_id\}\n(.*\n)\s+methods: \[GET, POST\]/,
      'path: /V1/**/',
      [/path: this route matches the same requests as the one in line \d+$/],
    ],
    [
      'misspells an upstream',
      'methods: [POST]\n    upstream: api',
      'methods: [POST]\n    upstream: apj',
      [/upstream: no upstream is named "apj", did you mean "api"\?$/],
    ],
    [
      'writes lower-case methods',
      'methods: [POST]',
      'methods: [post]',
      [/methods are case-sensitive: write "POST"$/],
    ],
    [
      'allows every origin',
      'origins: [https://app.example.com]',
      'origins: ["*"]',
      [/expected an origin such as .*, found "\*": to allow every page, write "origins: any"$/],
    ],
    [
      'forgets the quotes of "*" too',
      'origins: [https://app.example.com]',
      'origins: *',
      [/a value that starts with "\*" must be in quotes; for everything write any/],
    ],
    [
      'forgets the scheme of the issuer',
      ISSUER,
      'issuer: id.example.com/realms/main',
      [`gateway.yaml:${at(ISSUER)}:11: identity_provider.issuer: has no scheme: write https:// before it`],
    ],
    [
      'takes the discovery document for the issuer',
      ISSUER,
      `${ISSUER}/.well-known/openid-configuration`,
      [/issuer: is the address of the discovery document: leave out "\/\.well-known\/openid-configuration"$/],
    ],
    [
      'writes a time without a unit',
      'client_header: 10s',
      'client_header: 10',
      [/expected a time such as 250ms, 5s, 10m or 1h, found 10: add a unit, such as 10ms or 10s$/],
    ],
    [
      'writes a unit of another tool',
      'head: 16KiB',
      'head: 16k',
      [/expected a size such as 512B, 64KiB or 10MiB, found "16k", did you mean 16KiB\?$/],
    ],
    [
      'writes a number as text',
      'fields: 200\n',
      'fields: "200"\n',
      [/expected a whole number from 1 to 1000, found "200": write 200 without quotes$/],
    ],
    [
      'writes yes for true',
      'access: true',
      'access: yes',
      [/expected true or false, found "yes", did you mean true\?$/],
    ],
    [
      'writes a port alone',
      'address: 0.0.0.0:8080',
      'address: 8080',
      [/expected host:port such as .*, found 8080, did you mean 0\.0\.0\.0:8080\?$/],
    ],
    [
      'forgets the scheme of an upstream',
      UPSTREAM_URL,
      'url: 127.0.0.1:3000',
      [
        /expected a URL that starts with http:\/\/ or https:\/\/, such as .*, did you mean http:\/\/127\.0\.0\.1:3000\?$/,
      ],
    ],
    [
      'writes a key in another style',
      'identity_provider:',
      'identityProvider:',
      [/unknown key "identityProvider", did you mean "identity_provider"\?$/],
    ],
    [
      'brings limits along',
      'limits: limits.yaml',
      'buckets: {}',
      [/unknown key "buckets": it belongs in limits\.yaml$/],
    ],
    [
      'misspells the file of limits',
      'limits: limits.yaml',
      'limits: limit.yaml',
      [/limits: no such file \(limit\.yaml\)$/],
    ],
    [
      'names gateway.yaml itself',
      'limits: limits.yaml',
      'limits: gateway.yaml',
      [/limits: this names the file itself/],
    ],
    [
      'uses an anchor that there is not',
      'trusted_proxies: none',
      'trusted_proxies: *proxies',
      [/no anchor above this alias has its name; a value that starts with "\*" must be in quotes$/],
    ],
    [
      'copies a no-break space',
      CLIENT_ID,
      'client_id:\u00a0gateway',
      [/U\+00A0 looks like a space but is not one: type a space$/],
    ],
    [
      'copies a colon of another script',
      CLIENT_ID,
      'client_id：gateway',
      [/this colon \(U\+FF1A\) is not an ASCII ":": type ":" and a space$/],
    ],
    [
      'copies a whole file behind it',
      /$/,
      `---\nlisten: {}\n`,
      [/a second YAML document starts here: a file has only one, remove the "---"$/],
    ],
    [
      'saves a terminal escape',
      CLIENT_ID,
      'client_id: gate\u001bway',
      [/the character U\+001B does not belong in a text file: is this the right file\?$/],
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
      `limits.yaml:${at(QUOTA)}:9: write a space after this ":"`,
    ],
    [
      'forgets the space before a bucket',
      LIMIT_ROUTE,
      'POST /v1/anonymous/auth:sign-in',
      `limits.yaml:${at(LIMIT_ROUTE)}:26: write a space after this ":"`,
    ],
    [
      'leaves out the number of the period',
      QUOTA,
      'user: 5/s',
      `limits.yaml:${at(QUOTA)}:11: buckets.messages.write.user: "5/s" is not a quota: write 5/1s`,
    ],
    ['writes out the unit', QUOTA, 'user: 5/min', /"5\/min" is not a quota: write 5\/1m$/],
    [
      'leaves out the unit',
      QUOTA,
      'user: 5/5',
      /"5\/5" is not a quota: the period lacks its unit: write 5\/5s, 5\/5m, 5\/5h or 5\/5d$/,
    ],
    ['leaves out the period', QUOTA, 'user: 5', /expected a number and a period such as 20\/5s, found 5$/],
    [
      'spaces a quota out',
      QUOTA,
      'user: 5 / 5s',
      /"5 \/ 5s" is not a quota: write it without spaces: 5\/5s$/,
    ],
    [
      'writes a quota of another tool',
      QUOTA,
      'user: 5r/s',
      /"5r\/s" is not a quota: "5r" is not a whole number from 1 to 1000000000/,
    ],
    ['writes weeks', QUOTA, 'user: 5/1w', /"5\/1w" is not a quota: write 5\/week$/],
    [
      'writes a map for a quota',
      QUOTA,
      'user: { limit: 5, period: 5s }',
      /expected a number and a period such as 20\/5s, or a map such as \{ claim: .* \}, found a map$/,
    ],
    [
      'misspells a bucket',
      LIMIT_ROUTE,
      'POST /v1/anonymous/auth: signin',
      /no bucket is named "signin", did you mean "sign-in"\?$/,
    ],
    [
      'writes a method in lower case',
      LIMIT_ROUTE,
      'post /v1/anonymous/auth: sign-in',
      /"post" is not a method, did you mean "POST"\?$/,
    ],
    [
      'writes several methods',
      LIMIT_ROUTE,
      'GET,POST /v1/anonymous/auth: sign-in',
      /write a line for each method$/,
    ],
    ['writes ANY', LIMIT_ROUTE, 'ANY /v1/anonymous/auth: sign-in', /write the path alone for every method$/],
    [
      'writes a route twice',
      LIMIT_ROUTE,
      `${LIMIT_ROUTE}\n  ${LIMIT_ROUTE}`,
      `limits.yaml:${at(LIMIT_ROUTE) + 1}:3: the key "POST /v1/anonymous/auth" is already there, in line ${at(LIMIT_ROUTE)}`,
    ],
    [
      'puts braces around a parameter',
      'main: channel_id',
      'main: "{channel_id}"',
      /expected the name of a parameter such as channel_id, without braces, found "\{channel_id\}"$/,
    ],
    [
      'writes a list for the routes',
      /^routes:\n(.*\n)+?(?=\n# )/m,
      'routes:\n  - /v1/**: everything-else\n',
      /routes: expected a map such as \{ GET \/v1\/messages: messages \}, found a list$/,
    ],
    [
      'leaves a merge behind',
      `    ${QUOTA}`,
      `<<<<<<< HEAD\n    ${QUOTA}`,
      `limits.yaml:${at(QUOTA)}:1: a merge stopped here: keep one of the two sides, and remove the lines with <<<<<<<, ======= and >>>>>>>`,
    ],
    [
      'brings routes of the gateway along',
      /$/,
      'upstreams: {}\n',
      /:1: unknown key "upstreams": it belongs in gateway\.yaml$/,
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
    ['none of its text', '', 'gateway.yaml:1:1: the file is empty, or all of it is commented out'],
    [
      'all of it commented out',
      GATEWAY.replaceAll(/^(?=.)/gm, '#'),
      'gateway.yaml:1:1: the file is empty, or all of it is commented out',
    ],
    ['a file of variables', `OIDC_CLIENT_SECRET=${ENV.OIDC_CLIENT_SECRET}\n`, TEXT],
    [
      'the configuration of nginx',
      'server {\n  listen 80;\n  location / { proxy_pass http://a; }\n}\n',
      TEXT,
    ],
    [
      'an error page',
      '<!DOCTYPE html>\n<html><head><title>404: not found</title></head></html>\n',
      'gateway.yaml:1:1: this line is neither "key: value" nor "- item"',
    ],
    [
      'TOML',
      '[listen]\nhttp = "0.0.0.0:8080"\n',
      'gateway.yaml:2:6: write ":" and a space in place of this "="',
    ],
    [
      'limits.yaml',
      LIMITS,
      `gateway.yaml:${lineOf(LIMITS, '\nglobal:') + 1}:1: this is a limits file: name the gateway.yaml that refers to it under "limits"`,
    ],
    ['a list', '- listen: {}\n', 'gateway.yaml:1:1: expected a map of keys, found a list'],
    [
      'UTF-16',
      Buffer.from(`\ufeff${GATEWAY}`, 'utf16le'),
      'gateway.yaml:1:1: the file is UTF-16: save it as UTF-8',
    ],
    [
      'Latin-1',
      Buffer.from(`${GATEWAY}# caf\u00e9\n`, 'latin1'),
      `gateway.yaml:${GATEWAY.split('\n').length}:1: this line is not valid UTF-8: save the file as UTF-8`,
    ],
    [
      'a compressed file',
      Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
      'gateway.yaml:1:1: this is a binary file, expected text: is this the right file?',
    ],
    [
      'a program',
      Buffer.from('\x7fELF\x02\x01\x01\0\0'),
      'gateway.yaml:1:1: the character U+007F does not belong in a text file: is this the right file?',
    ],
    [
      'a log of many megabytes',
      Buffer.alloc(5_000_000, 'x'),
      'gateway.yaml: the file is larger than 1 MiB: is this the right file?',
    ],
    [
      'a bomb of aliases',
      `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]\n`).join('')}`,
      'gateway.yaml:1:1: aliases multiply this file to more than 100000 values',
    ],
    ['lists a thousand deep', `a: ${'['.repeat(20_000)}`, 'nested too deeply'],
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
