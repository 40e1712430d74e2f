import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { pseudonymOf } from '../../src/observe/index.ts';
import { documentNamed } from '../support/documents.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { ensureInstalled } from '../support/installed.ts';
import { askOnce, startLimited } from '../support/limits.ts';
import { tempFolder } from '../support/temp.ts';

const KEY = 'a key for pseudonyms that has at least 32 characters';
const IDENTITY = `identity_provider: { issuer: "https://id.example.com", client_id: gateway, client_secret_file: secret, redirect_uri: "https://app.example.com/cb", scope: openid }`;

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function weir(...words: readonly string[]): Promise<Ended> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCommandLine(words, {
    env: process.env,
    out: text => void out.push(text),
    err: text => void err.push(text),
  });
  return { code, out: out.join(''), err: err.join('') };
}

/** A configuration with these `access_tokens`, and with a key unless told otherwise. */
async function configOf(tokens: string, log = '{ pseudonym_key_file: key }'): Promise<string> {
  const folder = await tempFolder();
  await writeFile(join(folder, 'key'), `${KEY}\n`);
  await writeFile(join(folder, 'secret'), 'hunter2');
  const file = join(folder, 'gateway.yaml');
  await writeFile(
    file,
    `${IDENTITY}\naccess_tokens: { audience: any${tokens} }\nlog: ${log}\nupstreams: { api: { url: "http://api" } }\nroutes: [{ path: "/**", upstream: api }]\n`,
  );
  return file;
}

/**
 * Runs a piece of shell next to that gateway.yaml, where `weir who` of the runbook prints what it prints here, without starting a Node for
 * it. No gateway runs that `weir explain` could ask.
 */
async function shell(file: string, script: string): Promise<string> {
  const words = ['who', '--client', 'web', '--subject', 'alice'];
  const { out } = await weir(...words, '--config', file);
  const weirIs = `weir() { if [ "$*" = "${words.join(' ')}" ]; then printf %s '${out}'; else [ "$1" = explain ]; fi; }\n`;
  const options = { cwd: dirname(file) };
  return (await run('bash', ['-euo', 'pipefail', '-c', weirIs + script], options)).stdout;
}

const run = promisify(execFile);

/** The pieces of shell below a heading of docs/runbook.md. */
function examplesBelow(heading: string): string[] {
  const [, section = ''] = documentNamed('docs/runbook.md').text.split(`\n## ${heading}\n`);
  const [untilNext = ''] = section.split('\n## ');
  return Array.from(untilNext.matchAll(/^ *```\n([\s\S]*?)^ *```$/gm), ([, code = '']) => code);
}

/** Lines about that caller that no recipe may count as requests: of a restriction, and of a long request. */
function otherLines(line: Readonly<Record<string, unknown>> = {}): string {
  const { time, caller, requestId, route } = line;
  const restriction = { time, type: 'restriction', caller, reason: 'ignored_refusals' };
  const lines = [
    { ...restriction, msg: 'restricted' },
    { ...restriction, msg: 'restriction released' },
    { time, type: 'admission', requestId, route, caller, decision: 'admitted' },
  ];
  return lines.map(each => `${JSON.stringify(each)}\n`).join('');
}

beforeAll(() => ensureInstalled({ command: 'jq', versionArgs: ['--version'], packages: ['jq'] }));

describe('the runbook', () => {
  test('finds alice, her 429s and who else has some in the log of a gateway', async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'pseudonym-key'), `${KEY}\n`);
    const { gateway, issuer, ...front } = await startLimited(
      { buckets: { reads: { user: '2/60s' } }, routes: { 'GET /things': 'reads' } },
      { config: { log: { level: 'info', pseudonym_key_file: join(folder, 'pseudonym-key') } } },
    );
    for (const sub of ['alice', 'alice', 'alice', 'alice', 'bob'])
      await askOnce({ gateway, issuer, ...front }, 'GET /things', issuer.bearer({ azp: 'web', sub }));
    await expect.poll(() => accessLines(gateway).length).toBe(5);
    const log = gateway.logLines.map(line => line.trimEnd()).join('\n');
    const at = dirname(gateway.configFile);
    await writeFile(join(at, 'pseudonym-key'), `${KEY}\n`);
    const alice = String(accessLines(gateway)[0]?.['caller']);
    await writeFile(join(at, 'weir.log'), `${log}\n${otherLines(accessLines(gateway)[0])}`);

    const [byRequest, lines, busiest] = examplesBelow('One caller gets 429').map(script =>
      script.includes('alice=') ? script : `alice=${alice}\n${script}`,
    );
    const [id, client] = [accessLines(gateway)[3]?.['requestId'], '127.0.0.1'];
    const found = await shell(gateway.configFile, (byRequest ?? '').replace('PASTE-IT-HERE', String(id)));
    expect(JSON.parse(found)).toMatchObject({ client, caller: alice, restricted: null });
    const refused = (await shell(gateway.configFile, lines ?? '')).trim().split('\n');
    expect(refused.map(line => JSON.parse(line))).toMatchObject(
      Array.from({ length: 2 }, () => ({ route: '/**', bucket: 'reads', decision: 'caller' })),
    );
    expect(await shell(gateway.configFile, busiest ?? '')).toMatch(
      /^ +2 .{16}\t\/\*\*\t\d+\n +2 .{16}\t\/\*\*\t\d+\n(\{.*"reason":"ignored_refusals".*\}\n){2}$/,
    );

    const [known, recipe, requests] = examplesBelow('Who is this?');
    expect(await shell(gateway.configFile, known ?? '')).toBe(`${alice}\n`);
    expect(await shell(gateway.configFile, recipe ?? '')).toBe(`${alice}\n`);
    const ids = accessLines(gateway).map(line => line['requestId']);
    expect((await shell(gateway.configFile, requests ?? '')).trim().split('\n')).toEqual(ids.slice(1, 4));

    const [clients, limits, callers] = examplesBelow('Everyone gets 429').filter(code => code.includes('jq'));
    expect((await shell(gateway.configFile, clients ?? '')).trim()).toBe('2 127.0.0.1');
    expect((await shell(gateway.configFile, limits ?? '')).trim()).toBe('2 user\treads\tcaller');
    expect((await shell(gateway.configFile, callers ?? '')).trim()).toBe(`2 ${alice}`);

    const [reasons] = examplesBelow('Many clients are restricted');
    expect((await shell(gateway.configFile, reasons ?? '')).trim()).toBe('1 "reason":"ignored_refusals"');
  });
});

describe('weir who', () => {
  it('names a group by the value of its claim, with its provider if there are several', async () => {
    const file = await configOf('');
    const pseudonym = (value: string) => pseudonymOf(Buffer.from(KEY), value);
    expect((await weir('who', '--group', 'acme', '--config', file)).out.trim()).toBe(pseudonym('acme'));
    expect((await weir('who', '--group', 'acme', '--client', 'web', '--config', file)).code).toBe(64);
    expect((await weir('who', '--group', '', '--config', file)).code).toBe(64);
  });

  it('tells bots from users by the claims it is given', async () => {
    const file = await configOf(', bots: { claim: client_id }');
    const user = await weir('who', file, '--client', 'web', '--subject', 'alice');
    const bot = await weir('who', file, '--client', 'web');
    expect(user).toEqual({ code: 0, err: '', out: expect.stringMatching(/^[\w-]{22}\n$/) });
    expect(bot).toEqual({ code: 0, err: '', out: expect.stringMatching(/^[\w-]{22}\n$/) });
    expect(bot.out).not.toBe(user.out);
  });

  it('needs neither the secrets of the gateway nor what else its file names', async () => {
    const file = await configOf('');
    const known = await weir('who', file, '--client', 'web', '--subject', 'alice');
    await rm(join(dirname(file), 'secret'));
    const text = await readFile(file, 'utf8');
    const secret = `client_secret: "\${OIDC_CLIENT_SECRET}"`;
    await writeFile(file, `${text.replace('client_secret_file: secret', secret)}limits: elsewhere.yaml\n`);
    expect(await weir('who', file, '--client', 'web', '--subject', 'alice')).toEqual(known);
  });

  it.each<[string, RegExp]>([
    ['log: { pseudonym_key_file: nowhere }', /gateway\.yaml:1:\d+: log\.pseudonym_key_file: no such file/],
    ['access_tokens: { principal: nobody }', /gateway\.yaml:1:\d+: access_tokens\.principal: expected/],
    ['log: [', /gateway\.yaml:\d+:\d+: /],
    ['buckets: {}', /this is a limits file/],
  ])('says what is wrong with what it does need: %s', async (text, message) => {
    const file = join(await tempFolder(), 'gateway.yaml');
    await writeFile(file, `${text}\n`);
    const ended = await weir('who', file, '--client', 'web', '--subject', 'alice');
    expect(ended).toMatchObject({ code: 78, out: '', err: expect.stringMatching(message) });
  });

  it('says that without access_tokens every caller is an address', async () => {
    const file = join(await tempFolder(), 'gateway.yaml');
    await writeFile(file, 'upstreams: {}\n');
    const ended = await weir('who', file, '--client', 'web');
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining('every caller is an address') });
  });

  it('takes any claim, in any order', async () => {
    const file = await configOf(', principal: [tenant, sub]');
    const one = await weir('who', file, '--claim', 'tenant=a=b', '--subject', 'alice');
    const other = await weir('who', file, '--claim=sub=alice', '--claim=tenant=a=b');
    expect(one.code).toBe(0);
    expect(other).toEqual(one);
  });

  it('asks for the class where bots and users have the same claims', async () => {
    const file = await configOf(', principal: [azp], bots: { claim: client_id }');
    const asked = await weir('who', file, '--client', 'web');
    expect(asked).toMatchObject({ code: 64, err: expect.stringContaining('add --as bot or --as user') });
    const [bot, user] = [
      await weir('who', file, '--client', 'web', '--as', 'bot'),
      await weir('who', file, '--client', 'web', '--as', 'user'),
    ];
    expect([bot.code, user.code]).toEqual([0, 0]);
    expect(bot.out).not.toBe(user.out);
  });

  it('takes the provider where there are several, whose callers never share a pseudonym', async () => {
    const file = await configOf('');
    const entry = (name: string) => `{ name: ${name}, issuer: "https://id/${name}", audience: api }`;
    const several = (...names: readonly string[]) =>
      writeFile(
        file,
        `identity_providers: [${names.map(entry).join(', ')}]\nlog: { pseudonym_key_file: key }\nupstreams: {}\n`,
      );
    const alice = ['who', file, '--client', 'web', '--subject', 'alice'];
    const alone = await weir(...alice);
    await several('main', 'other');
    const [main, other] = [
      await weir(...alice, '--provider', 'main'),
      await weir(...alice, '--provider', 'other'),
    ];
    expect([main.code, other.code]).toEqual([0, 0]);
    expect(new Set([alone.out, main.out, other.out]).size).toBe(3);
    expect(await weir(...alice)).toMatchObject({
      code: 64,
      err: expect.stringContaining('add --provider main or other'),
    });
    expect((await weir(...alice, '--provider', 'man')).err).toContain('--provider takes main or other');
    // With one provider, names and keys are what they were.
    await several('main');
    expect([await weir(...alice), await weir(...alice, '--provider', 'main')]).toEqual([alone, alone]);
  });

  it('says that without a key nobody can know, and what to do', async () => {
    const ended = await weir('who', await configOf('', '{}'), '--client', 'web', '--subject', 'alice');
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toContain('log.pseudonym_key_file is not set, so each process makes a random key');
    expect(ended.err).toContain('openssl rand -base64 32');
  });

  it('says how an address appears, which has no pseudonym', async () => {
    const { out } = await weir('who', '--address', '2001:db8::7');
    expect(out).toBe(
      '2001:db8::7: addresses have no pseudonym, "client" in the log is the address itself. Limits and restriction lines use 2001:db8:0:0::/64 instead, unless limits.yaml has another ipv6_prefix.\n',
    );
    expect((await weir('who', '--address', '192.0.2.7')).out).toMatch(/is the address itself\n$/);
    expect((await weir('who', '--address', '64:ff9b::192.0.2.7')).out).toMatch(/use 192.0.2.7 instead\.\n$/);
  });

  it('names the network by which the configuration counts an address', async () => {
    const file = await configOf('');
    const ask = () => weir('who', file, '--address', '2001:db8:1:2ff::7');
    expect((await ask()).out).toMatch(/use 2001:db8:1:2ff::\/64 instead\.\n$/);
    await writeFile(file, `${await readFile(file, 'utf8')}limits: limits.yaml\n`);
    await writeFile(join(dirname(file), 'limits.yaml'), 'ipv6_prefix: 56\n');
    expect((await ask()).out).toMatch(/use 2001:db8:1:200::\/56 instead\.\n$/);
    await writeFile(join(dirname(file), 'limits.yaml'), 'nat64_prefixes: ["2001:db8:1::/48"]\n');
    expect((await ask()).out).toMatch(/use 2.255.0.0 instead\.\n$/);
    await writeFile(join(dirname(file), 'limits.yaml'), 'ipv6_prefix: 12\n');
    expect(await ask()).toMatchObject({ code: 78, out: '', err: expect.stringContaining('ipv6_prefix') });
    expect((await weir('who', `${file}.missing`, '--address', '::1')).code).toBe(78);
  });

  it.each<[string[], string]>([
    [
      [],
      'say who: --client AZP --subject SUB, --claim NAME=VALUE, --key NAME, --group VALUE or --address IP',
    ],
    [['--client', 'web'], 'a user takes --client AZP --subject SUB; a bot takes --claim tenant=VALUE'],
    [['--client', ''], '--client is empty: is a shell variable unset?'],
    [['--claim', 'tenant'], '--claim takes NAME=VALUE, not "tenant"'],
    [['--subject', 'a', '--claim', 'sub=b'], 'the claim sub is given twice'],
    [['--subject', 'a', '--subject', 'b'], '--subject is given twice'],
    [['--as', 'address', '--subject', 'a'], '--as takes bot or user, not "address"'],
    [['--address', 'home'], '--address takes an IP address, not "home"'],
    [['--address', '::1', '--subject', 'a'], '--address cannot be combined with other options'],
  ])('refuses %j, and says why', async (words, message) => {
    const file = await configOf(', bots: { claim: client_id, principal: [tenant] }');
    const ended = await weir('who', file, ...words);
    expect(ended).toMatchObject({ code: 64, out: '' });
    expect(ended.err).toContain(`weir who: ${message}`);
  });
});
