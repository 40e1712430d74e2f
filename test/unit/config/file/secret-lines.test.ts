import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diagnosticsIn, NEEDED } from '../../../support/config-text.ts';
import { played } from '../../../support/runs.ts';

/** Each breaks the file by its characters, which the parser would quote. */
const BROKEN = [
  'client_secret: *hunter2',
  'client_secret: "hunter2\\q"',
  'client_secret: "hunter2\\xZZ"',
  'client_secret: @hunter2',
  'client_secret: %hunter2',
  'client_secret: `hunter2`',
  'client_secret: !hunter2 x',
  'client_secret: hunter2: hunter2',
  'client_secret: "hunter2" hunter2',
  'client_secret: "$' + '{hunter2 hunter2}"',
  '"client_secret": *hunter2',
  'client_secret:\n    *hunter2',
];

describe('a secret that breaks the file', () => {
  it.each(BROKEN)('is not shown: %s', async line => {
    const diagnostics = await diagnosticsIn(`identity_provider:\n  ${line}\n`);
    expect(diagnostics).not.toEqual([]);
    expect(diagnostics.join('\n')).not.toContain('hunter2');
  });

  it.each(['*hunter2', '@hunter2', '!hunter2 x'])(
    'is not to be put in quotes, as other values are: %s',
    async secret => {
      const diagnostics = await diagnosticsIn(`identity_provider:\n  client_secret: ${secret}\n`);
      const told = diagnostics.filter(diagnostic => /^2:\d\d: /.test(diagnostic));
      expect(told.map(diagnostic => diagnostic.replace(/^2:\d\d: /, ''))).toEqual([
        `this line is not valid YAML, and a secret must not be in this file: write client_secret: "\${NAME}" to read an environment variable`,
      ]);
    },
  );

  it.each([
    [
      'client_secret:\n  hunter2: x',
      '3:3: identity_provider: unknown key in a line with a secret, which is not shown',
    ],
    ['client_secret: x, hunter2\n  a: 1\n  a: 2', '4:3: the key "a" is already there, in line 3'],
  ])('is not shown where it became a key: %j', async (lines, diagnostic) => {
    const diagnostics = await diagnosticsIn(`identity_provider:\n  ${lines}\n`);
    expect(diagnostics).toContain(diagnostic);
    expect(diagnostics.join('\n')).not.toContain('hunter2');
  });

  it('is not shown where a comma made a key of it', async () => {
    const diagnostics = await diagnosticsIn('store: { redis: "redis://r", password: hunter1,hunter2 }\n');
    expect(diagnostics.join('\n')).toContain('store: unknown key in a line with a secret');
    expect(diagnostics.join('\n')).not.toMatch(/hunter[12]/);
  });

  it.each([
    'client_secret:hunter2',
    'client_secret=hunter2',
    'client_secret hunter2',
    '-client_secret: hunter2',
    'client_secre@t, hunter2: x',
    'cl@ient_sec:ret& x, hunter2: x',
    'pas;sw\n  ord: hunter2: x',
    'password&: hunter2: x',
    'client_secre\n  hunter2: x',
  ])('is not shown where its key is none: %s', async line => {
    for (const text of [`identity_provider:\n  ${line}\n`, `identity_provider: { issuer: x, ${line} }\n`]) {
      const diagnostics = await diagnosticsIn(text);
      expect(diagnostics).not.toEqual([]);
      expect(diagnostics.join('\n')).not.toContain('hunter2');
    }
  });

  it('is not shown where the file is nothing else', async () => {
    for (const text of ['hunter2\n', 'OIDC_CLIENT_SECRET=hunter2\n', 'hunter2:hunter2\n'])
      expect(await diagnosticsIn(text)).toEqual(['1:1: expected a map of keys, found text']);
  });

  it('is not shown whatever slips of the pen surround it', async () => {
    const marks = fc.constantFrom(...':="\'{}[]#-*&!|>%@`,\t\n \u00a0'.split(''), '');
    const edit = fc.tuple(fc.integer({ min: -25, max: 12 }), marks, fc.boolean());
    const form = fc.constantFrom(
      'hunter2',
      '"hunter2"',
      "'hunter2",
      'hunter2: x',
      '\n    hunter2',
      '[hunter2]',
      '{ hunter2 }',
    );
    const key = fc.constantFrom(
      '  client_secret: ',
      '  client_secret: x\nstore:\n  redis: redis://r\n  password: ',
    );
    await fc.assert(
      fc.asyncProperty(key, form, fc.array(edit, { maxLength: 3 }), async (start, secret, edits) => {
        let text = `identity_provider:\n  issuer: https://id\n${start}${secret}\n  client_id: a\n${NEEDED}`;
        for (const [offset, mark, replaces] of edits) {
          const at = Math.max(0, text.indexOf('hunter2') + offset);
          text = text.slice(0, at) + mark + text.slice(replaces ? at + 1 : at);
        }
        expect((await diagnosticsIn(text)).join('\n')).not.toContain('hunter2');
      }),
      played(3000, 60),
    );
  });
});

describe('a URL with a user and a password', () => {
  it.each([
    'listen: { http: "http://me:hunter2@host:80" }',
    'listen: "http://me:hunter2@host"',
    'store: redis://me:hunter2@host',
    'store: { redis: "http://me:hunter2@host" }',
    'store: { redis: "redis://r", nodes: "me:hunter2@host:1" }',
    'cors: { origins: ["https://me:hunter2@host"] }',
    'cors: { origins: "https://me:hunter2@host" }',
    'trusted_proxies: ["https://me:hunter2@host"]',
  ])('is not shown: %s', async line => {
    const diagnostics = await diagnosticsIn(`${line}\n${NEEDED}`);
    expect(diagnostics).toHaveLength(1);
    expect(diagnostics.join()).not.toContain('hunter2');
  });

  it.each([
    '"http://me:hunter2@host"',
    '{ url: "http://me:hunter2@host" }',
    '{ url: "ftp://me:hunter2@host" }',
  ])('is not shown as an upstream: %s', async upstream => {
    const diagnostics = await diagnosticsIn(NEEDED.replace('{ url: "http://api:3000" }', upstream));
    expect(diagnostics).toHaveLength(1);
    expect(diagnostics.join()).not.toContain('hunter2');
  });
});

describe('another line that breaks the file', () => {
  it('may be a doubled key or an unset variable, which show no secret', async () => {
    const text = 'identity_provider:\n  client_secret: "$' + '{NOPE}"\n  client_secret: "$' + '{NOPE}"\n';
    const diagnostics = await diagnosticsIn(text);
    expect(diagnostics).toContain('2:18: the environment variable NOPE is not set');
    expect(diagnostics).toContain('3:3: the key "client_secret" is already there, in line 2');
  });

  it('names an unknown key beside a secret that is a variable', async () => {
    const text = 'identity_provider: { client_secret: "$' + '{S}", client_di: a }\n';
    expect((await diagnosticsIn(text, { S: 'hunter2' })).join()).toContain(
      'unknown key "client_di", did you mean "client_id"?',
    );
  });
});
