import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { changeLimits, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { tempFolder } from '../support/temp.ts';
import { bundledScript } from '../support/weir-bundle.ts';

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function diff(...words: readonly string[]): Promise<Ended> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCommandLine(['diff', ...words], {
    env: { OIDC_CLIENT_SECRET: 'x' },
    out: text => void out.push(text),
    err: text => void err.push(text),
  });
  return { code, out: out.join(''), err: err.join('') };
}

/** Writes texts as files of a new folder and returns their paths. */
async function filesOf(...texts: readonly string[]): Promise<string[]> {
  const folder = await tempFolder();
  const paths = texts.map((_, index) => join(folder, `${index}.yaml`));
  for (const [index, path] of paths.entries()) await writeFile(path, texts[index] ?? '');
  return paths;
}

const limits = (user: string) => `buckets: { files: { user: ${user} } }\nroutes: { GET /files: files }\n`;

describe('weir diff', () => {
  it('says what changes in limits alone, and exits with 1 if anything gets stricter', async () => {
    const [wide = '', tight = ''] = await filesOf(limits('10/5s'), limits('5/5s'));
    expect(await diff(wide, tight)).toEqual({
      code: 1,
      out: 'stricter  bucket files: each caller 5 in 5s, before 10 in 5s\n',
      err: '',
    });
    expect(await diff(tight, wide)).toEqual({
      code: 0,
      out: 'looser    bucket files: each caller 10 in 5s, before 5 in 5s\n',
      err: '',
    });
    expect(await diff(wide, wide)).toEqual({ code: 0, out: 'nothing changes for callers\n', err: '' });
  });

  it('tells the requests of hosts apart', async () => {
    const [before = '', after = ''] = await filesOf(
      'buckets: { a: { user: 9/5s }, b: { user: 2/5s } }\nroutes: { GET /files: a, GET b.test/files: b }\n',
      'buckets: { a: { user: 9/5s }, b: { user: 2/5s } }\nroutes: { GET /files: a, GET a.test/files: b }\n',
    );
    const { code, out } = await diff(before, after);
    expect(code).toBe(1);
    expect(out).toContain(
      'stricter  GET a.test/files: in the bucket b, before in the bucket a by the line "GET /files"',
    );
    expect(out).toContain(
      'looser    GET b.test/files: in the bucket a by the line "GET /files", before in the bucket b',
    );
    expect(out).toContain('stricter  bucket b: also counts GET a.test/files');
  });

  it('says the same as JSON', async () => {
    const [wide = '', tight = ''] = await filesOf(limits('10/5s'), limits('5/5s'));
    const { code, out } = await diff(wide, tight, '--format', 'json');
    expect([code, JSON.parse(out)]).toEqual([
      1,
      {
        stricter: true,
        changes: [
          { effect: 'stricter', subject: 'bucket files', text: 'each caller 5 in 5s, before 10 in 5s' },
        ],
      },
    ]);
  });

  it('compares whole configurations, and takes the folder for its gateway.yaml', async () => {
    const folder = join(await tempFolder(), 'config');
    await cp('config', folder, { recursive: true });
    const file = join(folder, 'gateway.yaml');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('  fields: 200', '  fields: 199'));
    expect(text).toContain('  fields: 200');
    expect(await diff('config', folder)).toEqual({
      code: 1,
      out: 'stricter  caps.fields: 199, before 200\n',
      err: '',
    });
  });

  it('needs no secret, key or certificate, and reports every other error', async () => {
    const gatewayOf = (secret: string, more: string) => `listen:
  http: { address: "127.0.0.1:0", tls: { certificates: [{ certificate_file: none.pem, key_file: none.pem }] } }
  admin: { address: "127.0.0.1:0", token_file: admin-token }
identity_provider: { issuer: "https://id.example.com", client_id: weir, ${secret}, redirect_uri: "https://app.example.com/cb" }
access_tokens: { audience: api }
store: { redis: "rediss://redis", password_file: password, tls: { ca_file: short } }
log: { pseudonym_key_file: short }
upstreams: { api: { url: "https://api", tls: { ca_file: none.pem } } }
routes: [{ path: /**, upstream: api }]
${more}`;
    const [old = '', now = '', wrong = ''] = await filesOf(
      gatewayOf(`client_secret: "\${NO_SECRET}"`, 'caps: { requests: 20 }'),
      gatewayOf('client_secret_file: none', 'caps: { requests: 10 }'),
      gatewayOf('client_secret_file: none', 'caps: { request: 10 }'),
      gatewayOf('client_secret_file: short', ''),
    );
    await writeFile(join(old, '..', 'short'), 'no certificate, and a short key');
    expect(await diff(old, now)).toMatchObject({
      code: 1,
      out: expect.stringContaining('stricter  caps.requests: 10, before 20\n'),
      err: '',
    });
    const { code, err } = await diff(old, wrong);
    expect([code, err.split('\n')]).toEqual([
      78,
      [expect.stringMatching(/2\.yaml:10:9: caps: unknown key "request", did you mean/), ''],
    ]);
    const checked: string[] = [];
    const terminal = { env: {}, out: (text: string) => void checked.push(text), err: () => {} };
    expect(await runCommandLine(['check', now], terminal)).toBe(1);
    const places = checked
      .join('')
      .split('\n')
      .map(line => /\.yaml:(\d+)/.exec(line)?.[1]);
    expect(new Set(places)).toEqual(new Set(['2', '3', '4', '6', '7', '8', undefined]));
  });

  it('takes a folder of limits', async () => {
    const folder = join(await tempFolder(), 'limits');
    await mkdir(folder);
    await writeFile(join(folder, 'a.yaml'), 'buckets: { files: { user: 5/5s } }\n');
    await writeFile(join(folder, 'b.yaml'), 'routes: { GET /files: files }\n');
    const [wide = ''] = await filesOf(limits('10/5s'));
    expect((await diff(wide, folder)).out).toBe(
      'stricter  bucket files: each caller 5 in 5s, before 10 in 5s\n',
    );
  });

  it('reads a pipe', async () => {
    const [wide = '', tight = ''] = await filesOf(limits('10/5s'), limits('5/5s'));
    const command = `"${process.execPath}" "${await bundledScript()}" diff <(cat "${wide}") "${tight}"`;
    const ended = promisify(execFile)('bash', ['-c', command]);
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stdout: 'stricter  bucket files: each caller 5 in 5s, before 10 in 5s\n',
    });
  });

  it('prints the errors of either file', async () => {
    const [good = '', bad = ''] = await filesOf(limits('10/5s'), limits('5/5'));
    const { code, out, err } = await diff(good, bad);
    expect([code, out]).toEqual([78, '']);
    expect(err).toMatch(/1\.yaml:1:27: buckets\.files\.user: "5\/5" is not a quota: write a number/);
    expect((await diff(good, '/nowhere.yaml')).err).toMatch(/^\/nowhere\.yaml: /);
  });

  it('refuses to compare limits with a whole configuration', async () => {
    const [file = ''] = await filesOf(limits('10/5s'));
    const { code, err } = await diff(file, 'config');
    expect([code, err.split('\n')[0]]).toEqual([
      64,
      `weir diff: ${file} has limits only and config is a whole configuration: compare two files of the same kind`,
    ]);
    expect((await diff(file)).err).toContain('missing NEW');
    expect((await diff(file, file, '--format', 'xml')).err).toContain('text or json, not "xml"');
  });
});

it('a gateway that reloads says the same words in its log and on its status page', async () => {
  const gateway = await startGateway({ upstreamPort: 1, config: { log: { level: 'info' } } });
  await changeLimits(gateway, { global: { address: '3/1s', user: 'off', bot: 'off' } });
  const words = ['stricter: global limit: each address 3 in 1s, before no limit'];
  expect((await serves(gateway, 2)).configuration).toMatchObject({ lastChanges: words });
  const line = gateway.logLines.find(text => text.includes('the new configuration is in use')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ type: 'reload', changes: words });
  await changeLimits(gateway, { global: { address: '9/1s', user: 'off', bot: 'off' } });
  const next = ['looser: global limit: each address 9 in 1s, before 3 in 1s'];
  expect((await serves(gateway, 3)).configuration).toMatchObject({
    lastChanges: next,
    reloads: [
      { outcome: 'applied', generation: 3, changes: next },
      { outcome: 'applied', generation: 2, changes: words },
    ],
  });
});
