import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Ended, runWeir as weir } from '../support/run-weir.ts';
import { tempFolder } from '../support/temp.ts';
import { bundledScript } from '../support/weir-bundle.ts';

/** The same as a process of its own. */
async function weirProcess(words: readonly string[], cwd = '.'): Promise<Ended> {
  return node([await bundledScript(), ...words], cwd);
}

function node(words: readonly string[], cwd = '.'): Promise<Ended> {
  return new Promise(done => {
    const child = execFile(process.execPath, words, { cwd }, (_, out, err) =>
      done({ code: child.exitCode ?? -1, out, err }),
    );
  });
}

/** Writes a configuration and returns its path. */
async function configOf(text: string): Promise<string> {
  const file = join(await tempFolder(), 'gateway.yaml');
  await writeFile(file, text);
  return file;
}

const SOUND = `upstreams:
  users: { url: "http://users:3000", timeouts: { first_byte: 90s } }
  files: { url: "http://files", host: upstream, authorization: remove }
trusted_proxies: [10.0.0.0/8]
routes:
  - path: /v1/**
    upstream: users
    authentication: none
  - path: /v1/users/{user_id}
    methods: [GET, PATCH]
    upstream: users
    authentication: none
  - path: /v1/users/{user_id}
    upstream: users
    authentication: none
  - path: /v1/files/{name}
    methods: [PUT]
    upstream: files
    authentication: none
    semicolons: pass
    max_body: 10MiB
    timeouts: { idle: 1500ms }
  - path: /v2/things
    methods: [POST]
    upstream: users
    authentication: none
`;

/** The variable that config/gateway.yaml needs. */
const SECRET = { OIDC_CLIENT_SECRET: 'hunter2' };

const IDENTITY = `identity_provider: { issuer: "https://id.example.com", client_id: gateway, client_secret: "\${OIDC_CLIENT_SECRET}", redirect_uri: "https://app.example.com/cb", scope: openid }
access_tokens: { audience: any }`;

const WITH_WARNING = `${SOUND}`.replace('upstreams:\n', 'upstreams:\n  old: { url: "http://old" }\n');
const WITH_MISTAKES = WITH_WARNING.replace('semicolons: pass', 'semicolon: pass');

describe('weir', () => {
  it('says and returns as a process what it does here', async () => {
    expect(await weirProcess(['chek'])).toEqual(await weir(['chek']));
  });

  it.each([['--help'], ['-h']])('lists its commands for %s', async flag => {
    const { code, out, err } = await weir([flag]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const command of ['serve', 'check', 'diff', 'test', 'explain', 'who', 'schema', 'health', 'demo']) {
      expect(out).toMatch(new RegExp(`^ {2}${command} `, 'm'));
    }
  });

  it('says its version', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8'));
    expect(await weir(['--version'])).toEqual({ code: 0, out: `weir ${version}\n`, err: '' });
    expect(await weir(['version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('says in full what runs it', async () => {
    const { code, out, err } = await weir(['version', '--verbose']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(`node     ${process.versions.node}, `);
  });

  it.each([
    ['serve'],
    ['check'],
    ['diff'],
    ['test'],
    ['explain'],
    ['simulate'],
    ['suggest'],
    ['who'],
    ['schema'],
    ['health'],
    ['version'],
    ['demo'],
  ])('says how %s is used', async command => {
    const help = await weir([command, '--help']);
    expect(help).toMatchObject({ code: 0, err: '' });
    expect(help.out).toMatch(new RegExp(`^weir ${command}( |$)`, 'm'));
    expect(help.out).toMatch(/^Exit code:/m);
    expect(await weir([command, 'anything', '-h'])).toEqual(help);
  });

  it.each<[string[], string]>([
    [
      [],
      'weir: missing command: use serve, check, diff, test, explain, simulate, suggest, who, key, schema, health, version, demo',
    ],
    [['chek'], 'weir: unknown command "chek", did you mean "check"?'],
    [['dance'], 'weir: unknown command "dance"'],
    [['--versoin'], 'weir: unknown option "--versoin", did you mean "--version"?'],
    [['--config', 'x', 'check'], 'weir: unknown option "--config": options follow the command'],
    [['check', '--confg', 'x'], 'weir check: unknown option "--confg", did you mean "--config"?'],
    [['check', '-x'], 'weir check: unknown option "-x"'],
    [['check', ''], 'weir check: the name of the configuration is empty: is a shell variable unset?'],
    [['check', 'x', 'y'], 'weir check: unexpected argument "y"'],
    [['check', 'x', '-c', 'y'], 'weir check: "x" and --config both name the configuration: leave out one'],
    [['check', '-c', 'x', '--config', 'y'], 'weir check: --config is given twice'],
    [
      ['check'],
      `weir check: there is no gateway.yaml in ${resolve('.')}: name the configuration, such as /etc/weir/gateway.yaml`,
    ],
    [['check', '--strict', '--strict'], 'weir check: --strict is given twice'],
    [['check', '--format', 'xml'], 'weir check: --format takes text or json, not "xml"'],
    [['check', '--config'], 'weir check: --config needs a value'],
    [['help', 'check'], 'weir: unknown command "help": write weir COMMAND --help, or weir --help'],
    [['-v'], 'weir: write weir --version, not "-v"'],
    [['explain', '/v1/x'], 'weir explain: missing PATH: name METHOD PATH [FILE]'],
    [['explain', '/v1/x', 'gateway.yaml'], 'weir explain: "/v1/x" is not a method: write GET /v1/x'],
    [
      ['explain', 'GET', 'gateway.yaml', '/v1'],
      'weir explain: "gateway.yaml" is a file, not a path: write GET /v1 gateway.yaml',
    ],
    [
      ['explain', 'GET', resolve('config/gateway.yaml'), '/v1'],
      `weir explain: "${resolve('config/gateway.yaml')}" is a file, not a path: write GET /v1 ${resolve('config/gateway.yaml')}`,
    ],
    [
      ['serve', '--port', '8080'],
      'weir serve: unknown option "--port": set "listen.http" in the configuration instead',
    ],
    [
      ['serve', '--port=8080'],
      'weir serve: unknown option "--port=8080": set "listen.http" in the configuration instead',
    ],
    [
      ['explain', 'GET', '/', '--address', '10.0.0.0/8'],
      'weir explain: --address takes one IP address, not the network "10.0.0.0/8"',
    ],
    [
      ['who', '--address', '10.0.0.0/8'],
      'weir who: --address takes one IP address, not the network "10.0.0.0/8"',
    ],
    [['explain', 'GET'], 'weir explain: missing PATH: name METHOD PATH [FILE]'],
    [['explain', 'get', '/'], 'weir explain: "get" is not a method, did you mean "GET"?'],
    [['explain', 'GET', '/', '--address', 'home'], 'weir explain: --address takes an IP address, not "home"'],
    [
      ['explain', 'GET', '/', 'config/gateway.yaml', '--as', 'usr'],
      'weir explain: --as takes bot, user, address or address:IP, not "usr", did you mean "user"?',
    ],
    [
      ['explain', 'GET', '/', '--as', 'address', '--client', 'web'],
      'weir explain: --as address is for callers without a token: leave it out, or the claims',
    ],
    [['explain', 'GET', '/', '--format', 'xml'], 'weir explain: --format takes text or json, not "xml"'],
    [
      ['explain', 'GET', '/', '--as', 'user:7'],
      'weir explain: --as takes bot, user, address or address:IP, not "user:7", did you mean "user"?',
    ],
    [
      ['explain', 'GET', '/', '--as', 'address:home'],
      'weir explain: --as address:IP takes an IP address, not "home"',
    ],
    [
      ['explain', 'GET', '/', '--as', 'address:192.0.2.1', '--address', '192.0.2.1'],
      'weir explain: --as address:IP and --address both give an address: leave out one',
    ],
    [['schema', 'gatewy'], 'weir schema: unknown schema "gatewy", did you mean "gateway"?'],
    [['serve', 'now', 'here'], 'weir serve: unexpected argument "here"'],
  ])('refuses %j with exit code 64', async (words, message) => {
    const { code, out, err } = await weir(words);
    expect({ code, out }).toEqual({ code: 64, out: '' });
    const [first, second] = err.split('\n');
    expect(first).toBe(message);
    expect(second).toMatch(/^Run "weir( \w+)? --help" for usage\.$/);
  });

  it('rejects an older Node.js before it loads anything that one cannot read', async () => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '24.1.0' } })`;
    const preload = `data:text/javascript,${encodeURIComponent(pretend)}`;
    expect(await node(['--import', preload, 'src/main.ts', '--version'])).toEqual({
      code: 1,
      out: '',
      err: 'weir: needs Node.js 26 or newer, this is 24.1.0\n',
    });
  });

  // A name that an older Node.js lacks would be a syntax error, before the look at its version.
  it('imports at its top only what every Node.js has', async () => {
    const main = await readFile('src/main.ts', 'utf8');
    expect(main.match(/^(?:import|export)\b.*$/gm)).toEqual([
      "import module from 'node:module';",
      "import { fileURLToPath } from 'node:url';",
      "import { setFlagsFromString } from 'node:v8';",
      "import { isMainThread } from 'node:worker_threads';",
    ]);
  });
});

describe('the configuration that a command reads', () => {
  it.each<[string, string[], RegExp]>([
    ['check', [], /ok, 5 routes/],
    ['explain', ['GET', '/v1/users/7'], /GET,PATCH \/v1\/users\/\{user_id\} \(/],
  ])('is gateway.yaml of the working folder, a word or an option, for %s', async (command, words, says) => {
    const file = await configOf(SOUND);
    // What is read where a command names nothing is the same for all.
    const here =
      command === 'check'
        ? await weirProcess([command], dirname(file))
        : await weir([command, ...words, file]);
    expect(here).toMatchObject({ code: 0, out: expect.stringMatching(says), err: '' });
    for (const named of [[file], ['-c', file], [`-c${file}`], ['--config', file], [`--config=${file}`]]) {
      const { code, out, err } = await weir([command, ...words, ...named]);
      expect({ code, out: out.replaceAll(file, 'gateway.yaml'), err }, named.join(' ')).toEqual({
        code: 0,
        out: here.out.replaceAll(file, 'gateway.yaml'),
        err: '',
      });
    }
  });

  it('is the same for serve', async () => {
    const file = await configOf(WITH_MISTAKES);
    const message = ':21:5: routes[3]: unknown key "semicolon", did you mean "semicolons"?\n';
    const here = await weirProcess(['serve'], dirname(file));
    expect(here).toMatchObject({ code: 78, err: expect.stringMatching(/^gateway\.yaml:/) });
    expect(here.err).toContain(message);
    for (const named of [[file], ['-c', file], ['--config', file]]) {
      const { code, err } = await weir(['serve', ...named]);
      expect({ code, err }).toEqual({ code: 78, err: here.err.replaceAll('gateway.yaml', file) });
    }
  });
});

/** What `weir check` says of the memory of this machine. */
/** The hint of a file without limits. */
const hintOf = (file: string, classes = 'address', keys = 'address: 500/10s') =>
  `${file}:1:1: hint: no limits file names the global limit of each ${classes}: it is 50/1s, which a page with many files exceeds. Write "global: { ${keys} }" into a file that "limits" names, or what your clients need\n`;
const MEMORY = /, memory with all caps full: \d+ MiB of \d+ MiB/;

function withoutMemory<Result extends { readonly out: string }>(result: Result): Result {
  expect(result.out).toMatch(MEMORY);
  return { ...result, out: result.out.replace(MEMORY, '') };
}

describe('weir check', () => {
  it('passes a valid file', async () => {
    const file = await configOf(SOUND);
    expect(withoutMemory(await weir(['check', '--config', file]))).toEqual({
      code: 0,
      out: `${hintOf(file)}${file}: ok, 5 routes, 2 upstreams\n`,
      err: '',
    });
  });

  it('passes the shipped files', async () => {
    expect(withoutMemory(await weir(['check', 'config/gateway.yaml'], SECRET))).toEqual({
      code: 0,
      out: 'config/gateway.yaml: ok, 8 routes, 3 upstreams, provider https://id.example.com/realms/main, limits of config/limits.yaml (4 buckets on 5 lines)\n',
      err: '',
    });
  });

  it('passes a file with a warning, and prints it', async () => {
    const file = await configOf(WITH_WARNING);
    expect(withoutMemory(await weir(['check', '--config', file]))).toEqual({
      code: 0,
      out: `${file}:2:3: warning: upstreams: no route uses the upstream "old"\n${hintOf(file)}${file}: ok, 5 routes, 3 upstreams, 1 warning\n`,
      err: '',
    });
  });

  it('fails on a warning when it is strict', async () => {
    expect(await weir(['check', '--strict', '--config', await configOf(WITH_WARNING)])).toMatchObject({
      code: 1,
      out: expect.stringMatching(/: 1 warning, which --strict does not allow\n$/),
    });
  });

  it('fails on errors, and prints all of them', async () => {
    const file = await configOf(WITH_MISTAKES);
    expect(await weir(['check', `--config=${file}`])).toEqual({
      code: 1,
      out: [
        `${file}:2:3: warning: upstreams: no route uses the upstream "old"`,
        `${file}:21:5: routes[3]: unknown key "semicolon", did you mean "semicolons"?`,
        `${file}: 1 error, 1 warning`,
        '',
      ].join('\n'),
      err: '',
    });
  });

  it('fails on a missing file', async () => {
    expect(await weir(['check', '--config', '/nowhere/gateway.yaml'])).toEqual({
      code: 1,
      out: '/nowhere/gateway.yaml: no such file (/nowhere/gateway.yaml)\n/nowhere/gateway.yaml: 1 error\n',
      err: '',
    });
  });

  it('takes variables from the environment', async () => {
    const file = await configOf(SOUND.replace('//users:3000', `//\${WEIR_TEST_HOST}:3000`));
    expect(await weir(['check', '--config', file], { WEIR_TEST_HOST: 'users' })).toMatchObject({ code: 0 });
    expect(await weir(['check', '--config', file])).toMatchObject({
      code: 1,
      out: expect.stringContaining('the environment variable WEIR_TEST_HOST is not set'),
    });
  });

  it('counts what it found by file', async () => {
    const file = await configOf(`${SOUND}limits: limits.yaml\n`);
    const limits = join(dirname(file), 'limits.yaml');
    await writeFile(limits, 'buckets: { a: { usr: 1/1s }, b: { user: 1 } }\n');
    const inLimits = await weir(['check', file]);
    expect(inLimits.out.split('\n').at(-2)).toBe(`${limits}: 2 errors, 2 warnings`);
    await writeFile(file, `${SOUND}limits: limits.yaml\ncap: 1\n`);
    expect((await weir(['check', file])).out.split('\n').at(-2)).toBe(
      `${file}: 1 error; ${limits}: 2 errors, 2 warnings`,
    );
  });

  it('says that sign-in is off where the gateway only checks tokens', async () => {
    const file = await configOf(`identity_provider: { issuer: "https://id.example.com" }
access_tokens: { audience: api }
upstreams: { api: { url: "http://a" } }
routes: [{ path: /**, upstream: api }]
`);
    expect(withoutMemory(await weir(['check', file]))).toEqual({
      code: 0,
      out: `${hintOf(file, 'user and address', 'user: 500/10s, address: 500/10s')}${file}: ok, 1 route, 1 upstream, provider https://id.example.com, sign-in is off: no redirect_uri\n`,
      err: '',
    });
    expect(JSON.parse((await weir(['check', '--format', 'json', file])).out)).toMatchObject({ signIn: null });
    expect((await weir(['explain', 'GET', '/v1/anonymous/authorize-url', file])).out).toContain(
      '404, sign-in is off: no redirect_uri',
    );
  });

  it('says what "workers: auto" becomes here, and what decided', async () => {
    const file = await configOf(`workers: auto
upstreams: { api: { url: "http://a" } }
routes: [{ path: /**, upstream: api, authentication: none }]
`);
    const { out } = await weir(['check', file]);
    expect(out).toMatch(
      /: ok, 1 route, 1 upstream, workers: \d+ \(auto, [a-z ]+: [\d.]+[\w ]*\), memory with all caps full: \d+ MiB of \d+ MiB\n$/,
    );
  });

  it('warns where the numbers of a file let clients take more than there is', async () => {
    const caps = 'caps: { requests: 100, buffered: 1000GiB }\n';
    const file = await configOf(`${SOUND}${caps}`);
    const { code, out } = await weir(['check', file]);
    expect(code).toBe(0);
    const [line] = out.split('\n');
    expect(line).toMatch(
      /gateway\.yaml:\d+:\d+: warning: memory with all caps full: \d+ MiB of \d+ MiB, most of it caps\.buffered \(1024000 MiB\); docs\/memory\.md/,
    );
    const [warning] = JSON.parse((await weir(['check', '--format', 'json', file])).out).warnings;
    expect(warning).toMatchObject({ column: caps.indexOf('1000GiB') + 1 });
  });

  it('reports the same as JSON', async () => {
    const file = await configOf(WITH_MISTAKES);
    const failed = await weir(['check', '--format', 'json', '--config', file]);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.out)).toEqual({
      ok: false,
      file,
      errors: [
        {
          file,
          line: 21,
          column: 5,
          message: 'routes[3]: unknown key "semicolon", did you mean "semicolons"?',
          severity: 'error',
        },
      ],
      warnings: [
        {
          file,
          line: 2,
          column: 3,
          message: 'upstreams: no route uses the upstream "old"',
          severity: 'warning',
        },
      ],
      hints: [],
    });
    const passed = await weir(['check', 'config/gateway.yaml', '--format', 'json'], SECRET);
    expect(JSON.parse(passed.out)).toEqual({
      ok: true,
      memory: { usableBytes: expect.any(Number), totalBytes: expect.any(Number), needs: expect.any(Array) },
      descriptors: expect.objectContaining({ needed: expect.any(Number), connections: expect.any(Number) }),
      file: 'config/gateway.yaml',
      files: ['config/gateway.yaml', 'config/limits.yaml'],
      routes: 8,
      upstreams: 3,
      workers: { count: 1, why: null },
      provider: 'https://id.example.com/realms/main',
      signIn: 'https://id.example.com/realms/main',
      providers: ['https://id.example.com/realms/main'],
      buckets: 4,
      bucketsInShadow: 0,
      errors: [],
      warnings: [],
      hints: [],
    });
  });

  it('prints hints, on which it never fails', async () => {
    const file = await configOf(`${SOUND}limits: limits.yaml\n`);
    const limits = join(dirname(file), 'limits.yaml');
    await writeFile(limits, 'buckets: { b: { user: 5/5s } }\nroutes: { /v1/a: b, /v1/b: b }\n');
    const { code, out } = await weir(['check', '--strict', '--config', file]);
    const [hint, flood, global, summary] = out.split('\n');
    expect(code).toBe(0);
    expect(flood).toMatch(`${limits}:1:12: hint: buckets: nothing restricts an address`);
    expect(hint).toMatch(`${limits}:1:12: hint: buckets: the scope of the bucket "b" is "shared"`);
    expect(global).toMatch(`${limits}:1:1: hint: no limits file names the global limit of each address`);
    expect(summary?.replace(MEMORY, '')).toBe(
      `${file}: ok, 5 routes, 2 upstreams, limits of ${limits} (1 bucket on 2 lines)`,
    );
  });

  it('prints the errors of limits.yaml with those of gateway.yaml, each with its file', async () => {
    const file = await configOf(`${WITH_MISTAKES}limits: limits.yaml\n`);
    const limits = join(dirname(file), 'limits.yaml');
    await writeFile(limits, 'failed_verifications: 0/1m\n');
    expect(await weir(['check', '--config', file])).toEqual({
      code: 1,
      out: [
        `${file}:2:3: warning: upstreams: no route uses the upstream "old"`,
        `${file}:21:5: routes[3]: unknown key "semicolon", did you mean "semicolons"?`,
        `${limits}:1:23: failed_verifications: "0/1m" is not a quota: write a number from 1 to 1000000000 and a period from 1s to 31d, such as 5/5s or 100/10m`,
        `${file}: 1 error, 1 warning; ${limits}: 1 error`,
        '',
      ].join('\n'),
      err: '',
    });
  });
});

/** What `weir explain` says of a request that no service answers. */
const ONLY_GLOBAL = [
  'limits: only the global limit: that of the caller if its token is remembered, else of the address',
  'as an address: global limit: 50 in 1s (the default)',
];

describe('weir explain', () => {
  /** The columns of the response, without the line that repeats the request. */
  async function explain(...words: string[]): Promise<{ code: number; facts: string[] }> {
    const file = await configOf(SOUND);
    const { code, out, err } = await weir(['explain', ...words, '--config', file]);
    expect(err).toBe('');
    const lines = out.replaceAll(`${file}:`, 'line ').split('\n');
    expect(lines.slice(0, 2)).toEqual([`${words[0]} ${words[1]}`, '']);
    return { code, facts: lines.slice(2, -1).map(line => line.trim().replaceAll(/ {2,}/g, ': ')) };
  }

  it('shows the route with its policies, and which others match', async () => {
    expect(await explain('GET', '/v1/users/7?full=yes')).toEqual({
      code: 0,
      facts: [
        'route: GET,PATCH /v1/users/{user_id} (line 9)',
        'parameters: user_id = 7',
        'upstream: users, http://users:3000',
        'authentication: none: open to everyone',
        'Authorization: passed on unchanged',
        "Host: the client's own",
        'body: any size; at least 240B/s on average, else 408',
        'client reads: at least 240B/s of what waits for it on average, else its connection ends',
        'semicolons: refused with 400',
        'upstream 429: rewritten unless clients of the gateway understand it',
        'timeouts: connect 2s, first byte 90s, idle 1m',
        'caps: 1024 requests in flight to the upstream, 256 per caller',
        'bucket: none: no line of "routes" in limits.yaml matches',
        'as an address: global limit: 50 in 1s (the default)',
        'restrictions: the address for 10m, after more than 10000 of its requests in 10m ended with 401, 403 or 429 (the default)',
        'CORS: off: preflights are ordinary requests',
        'also matches: /v1/** (line 6): less specific',
        '/v1/users/{user_id} (line 13): same path, but the route above names the method',
      ],
    });
  });

  it('shows the policies that the file sets', async () => {
    const { facts } = await explain('PUT', '/v1/files/a;v=1');
    expect(facts).toEqual(
      expect.arrayContaining([
        'upstream: files, http://files:80',
        'Authorization: removed',
        'Host: files',
        'body: at most 10MiB, else 413; at least 240B/s on average, else 408',
        'semicolons: passed on',
        'timeouts: connect 2s, first byte 1m, idle 1500ms',
      ]),
    );
  });

  it('shows the canonical path if it differs from the one sent', async () => {
    const { code, facts } = await explain('GET', '/v1/%75sers/%c3%bc');
    expect(code).toBe(0);
    expect(facts[0]).toBe('canonical path: /v1/users/%C3%BC, used for routing and sent upstream');
    expect(facts[2]).toBe('parameters: user_id = %C3%BC');
  });

  it('says why a path is refused', async () => {
    expect(await explain('GET', '/v1/../admin')).toEqual({
      code: 1,
      facts: [expect.stringMatching(/^refused: 400, the path has a "\." or "\.\." segment/)],
    });
  });

  it('says which route would have to let a semicolon pass', async () => {
    expect(await explain('GET', '/v1/users/7;x')).toEqual({
      code: 1,
      facts: [
        'route: GET,PATCH /v1/users/{user_id} (line 9)',
        'refused: 400, the path contains a semicolon, which only a route with "semicolons: pass" accepts',
      ],
    });
  });

  it('says that no route matches, and which do for other methods', async () => {
    expect(await explain('GET', '/v2/things')).toEqual({
      code: 1,
      facts: [
        'refused: 404, no route matches',
        'also matches: POST /v2/things (line 23): only for POST',
        ...ONLY_GLOBAL,
      ],
    });
    expect(await explain('GET', '/v3')).toEqual({
      code: 1,
      facts: ['refused: 404, no route matches', ...ONLY_GLOBAL],
    });
  });

  it('says that a route for everything does not lead under the prefix of the sign-in', async () => {
    const { code, facts } = await explain('POST', '/v1/anonymous/auth%20');
    expect({ code, facts }).toEqual({
      code: 1,
      facts: [
        'refused: 404, no route matches',
        'also matches: /v1/** (line 6): only routes that name /v1/anonymous serve paths under it',
        ...ONLY_GLOBAL,
      ],
    });
  });

  it('reads a target in absolute form as the gateway does', async () => {
    const { code, facts } = await explain('GET', 'http://Api.example.com:8080/v1/%75sers/7?full=yes');
    expect(code).toBe(0);
    expect(facts.slice(0, 3)).toEqual([
      'host: Api.example.com:8080, which is routed as api.example.com',
      'canonical path: /v1/users/7, used for routing and sent upstream',
      'route: GET,PATCH /v1/users/{user_id} (line 9)',
    ]);
    expect((await explain('GET', 'http://api.example.com/v1/../admin')).facts).toEqual([
      expect.stringMatching(/^refused: 400, the path has a "\." or "\.\." segment/),
    ]);
    expect(await explain('GET', 'http://user@api.example.com/v1')).toEqual({
      code: 1,
      facts: ['refused: 400, "user@api.example.com" is not a plain host'],
    });
    expect((await explain('GET', 'http://api.example.com:99999/v1')).code).toBe(1);
    expect((await explain('GET', 'ftp://api.example.com/v1')).code).toBe(1);
  });

  it.each(['*', 'http://api.example.com'])(
    'says that the gateway answers OPTIONS %s by itself',
    async target => {
      const { code, facts } = await explain('OPTIONS', target);
      expect(code).toBe(0);
      expect(facts).toContain('served by: the gateway itself: 204 with the supported methods');
      expect(facts.at(-1)).toBe('limits: none: it uses no bucket');
      expect((await explain('GET', '*')).code).toBe(1);
    },
  );

  it('says that the gateway never serves TRACE', async () => {
    expect(await explain('TRACE', '/v1')).toEqual({
      code: 1,
      facts: ['refused: 405, the gateway does not serve TRACE', ...ONLY_GLOBAL],
    });
  });

  it.each([
    ['203.0.113.9', 'is counted separately; not a trusted proxy: its forwarding headers are ignored'],
    [
      '2001:db8:1:2:3::4',
      'counts as 2001:db8:1:2::/64; not a trusted proxy: its forwarding headers are ignored',
    ],
    ['10.1.2.3', "is a trusted proxy: the client's address is read from its X-Forwarded-For"],
  ])('says what the address %s counts as', async (address, text) => {
    const { facts } = await explain('GET', '/v1', '--address', address);
    expect(facts.at(-1)).toBe(`address: ${address} ${text}`);
  });

  it('exits with 78 when the configuration has errors', async () => {
    const file = await configOf(WITH_MISTAKES);
    const { code, out, err } = await weir(['explain', 'GET', '/', '--config', file]);
    expect({ code, out }).toEqual({ code: 78, out: '' });
    expect(err).toContain('unknown key "semicolon"');
  });
});

describe('weir explain, of callers', () => {
  /** The columns of the response for the shipped configuration. */
  async function explain(method: string, path: string): Promise<{ code: number; facts: string[] }> {
    const { code, out, err } = await weir(['explain', method, path, 'config/gateway.yaml'], SECRET);
    expect(err).toBe('');
    const lines = out.replaceAll(/(config\/\w+\.yaml):\d+/g, '$1').split('\n');
    return { code, facts: lines.slice(2, -1).map(line => line.trim().replaceAll(/ {2,}/g, ': ')) };
  }

  it('says who may use a route, and what the upstream learns about them', async () => {
    const { facts } = await explain('GET', '/v1/things');
    expect(facts.slice(0, 9)).toEqual([
      'route: /v1/** (config/gateway.yaml)',
      'upstream: api, http://127.0.0.1:3000',
      'authentication: required: 401 without a valid token',
      'Authorization: the token is passed on, as Bearer',
      'identity headers: X-Auth-Subject from the claim sub',
      'X-Auth-Client from the claim azp',
      'tokens: issued by https://id.example.com/realms/main for api',
      'callers: users, identified by azp and sub',
      'bots (tokens with client_id), identified by azp',
    ]);
  });

  it('says what the upstream speaks', async () => {
    const { facts } = await explain('GET', '/v1/search/x');
    expect(facts[1]).toBe('upstream: search, http://127.0.0.1:3001, h2');
  });

  it('says how a gRPC call is treated', async () => {
    const { code, facts } = await explain('GRPC', 'service.v1.Interactions/Create');
    expect(code).toBe(0);
    expect(facts).toContain('route: GRPC service.v1.Interactions/* (config/gateway.yaml)');
    expect(facts).toContain('upstream: interactions, http://127.0.0.1:50051, grpc');
    expect(facts).toContain('caps: 1024 gRPC calls in flight to the upstream, 256 per caller');
    expect(facts).toContain('as a user: global limit: none, the route is exempt from it');
    expect(facts.join()).toMatch(/bucket: interactions .*by the line "GRPC service.v1.Interactions\/\*"/);
    expect(facts).toContain("deadline: the call's own grpc-timeout; past it DEADLINE_EXCEEDED");
    const other = await explain('GRPC', '/service.v1.interactions/Create');
    expect(other.facts.slice(0, 2)).toEqual(['refused: UNIMPLEMENTED, no route takes it', ONLY_GLOBAL[0]]);
    expect(other.code).toBe(1);
    expect((await explain('GRPC', 'x.Y')).code).toBe(1);
  });

  it('says which routes serve WebSockets, with their caps and when an idle one ends', async () => {
    const { facts } = await explain('GET', '/v1/live');
    expect(facts.join('\n')).toMatch(/^WebSockets: served, ended after 1h without traffic$/m);
    expect(facts.join('\n')).toContain('10000 WebSockets open to the upstream, 1000 per caller');
    expect((await explain('GET', '/v1/other')).facts.join()).not.toContain('WebSockets');
  });

  it('says that everyone may use a route without authentication', async () => {
    const { facts } = await explain('POST', '/v1/webhooks/7/token');
    expect(facts).toContain('authentication: none: open to everyone');
    expect(facts).toContain('Authorization: passed on unchanged');
    expect(facts.join()).not.toContain('identity headers');
  });

  it('says how an optional token is treated, and when it expires', async () => {
    const file = await configOf(`${IDENTITY}
upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api, authentication: optional, close_at_expiry: true }]
`);
    const { out } = await weir(['explain', 'GET', '/x', '--config', file], SECRET);
    expect(out).toMatch(/^ {2}authentication +optional: without a valid token the caller is its address$/m);
    expect(out).toMatch(/^ +a response is cut off when its token expires$/m);
    expect(out).toMatch(
      /^ {2}Authorization +a valid token is passed on, as Bearer; anything else is removed$/m,
    );
  });

  it('says that the gateway itself redeems codes', async () => {
    const { code, facts } = await explain('POST', '/v1/anonymous/auth');
    expect({ code, facts }).toEqual({
      code: 0,
      facts: [
        "route: /v1/anonymous/auth (the gateway's own)",
        'served by: the gateway itself: redeems an authorization code for tokens',
        'authentication: none: open to everyone',
        'provider: https://id.example.com/realms/main',
        'client: gateway, client_secret_basic',
        'redirect URIs: any',
        ...facts.slice(6, -1),
        'also matches: /v1/** (config/gateway.yaml): less specific',
      ],
    });
    expect(facts.slice(6, -1).map(fact => fact.replace(/: .*/, ''))).toEqual([
      'bucket',
      'by the line "POST /v1/anonymous/auth" (config/limits.yaml)',
      'bucket hash',
      'scope',
      'as an address',
      'bucket',
      'restrictions',
      'CORS',
    ]);
  });

  it('says which redirect URIs are redeemed', async () => {
    const file = await configOf(
      `${IDENTITY.replace('scope:', 'redirect_uris: ["https://app.example.com/cb", "https://app.example.com/other"], scope:')}\n${SOUND}`,
    );
    const { out } = await weir(['explain', 'POST', '/v1/anonymous/auth', '--config', file], SECRET);
    expect(out).toMatch(
      /redirect URIs +https:\/\/app\.example\.com\/cb\n +https:\/\/app\.example\.com\/other\n/,
    );
  });

  it('says that the gateway itself returns where to sign in', async () => {
    const { code, facts } = await explain('HEAD', '/v1/anonymous/authorize-url/');
    expect(code).toBe(0);
    expect(facts).toEqual(
      expect.arrayContaining([
        "route: /v1/anonymous/authorize-url (the gateway's own)",
        'served by: the gateway itself: returns the address where a browser signs in',
        'redirect URI: https://app.example.com/callback',
        'scope: openid',
      ]),
    );
  });

  it.each([
    ['GET', '/v1/anonymous/auth', '405, it only serves POST'],
    ['POST', '/v1/anonymous/authorize-url', '405, it only serves GET and HEAD'],
  ])('says that %s %s is refused', async (method, path, why) => {
    const { code, facts } = await explain(method, path);
    expect(code).toBe(1);
    expect(facts).toContain(`refused: ${why}`);
  });

  it('says that without a provider there is no sign-in', async () => {
    const { code, out } = await weir([
      'explain',
      'POST',
      '/v1/anonymous/auth',
      '--config',
      await configOf(SOUND),
    ]);
    expect(code).toBe(1);
    expect(out).toContain('404, no identity_provider is configured');
  });
});

describe('a secret', () => {
  it('is never printed, by no command and in no format', async () => {
    const file = await configOf(`${IDENTITY}\n${SOUND}`);
    const bad = await configOf(`${IDENTITY.replace('client_id', 'client_di')}\n${SOUND}`);
    const printed: string[] = [];
    for (const words of [
      ['check', '--config', file],
      ['check', '--format', 'json', '--config', file],
      ['check', '--config', bad],
      ['check', '--format', 'json', '--config', bad],
      ['explain', 'POST', '/v1/anonymous/auth', '--config', file],
      ['explain', 'GET', '/v1/x', '--config', file],
      ['serve', '--config', bad],
    ]) {
      const { out, err } = await weir(words, SECRET);
      printed.push(out, err);
    }
    expect(printed.join('')).toContain('client_di');
    expect(printed.join('')).not.toContain('hunter2');
  });
});

describe('weir schema', () => {
  it('prints the JSON Schema of gateway.yaml', async () => {
    const { code, out } = await weir(['schema']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ type: 'object', required: ['upstreams', 'routes'] });
    expect(await weir(['schema', 'gateway'])).toMatchObject({ code: 0, out });
  });

  it('prints that of limits.yaml', async () => {
    const { code, out } = await weir(['schema', 'limits']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ type: 'object', properties: { failed_verifications: {} } });
  });
});

describe('what weir prints', () => {
  const odd = 'a\u001b[2J\u007f\u009b31m\u202eb';

  it.each([
    ['check', `${odd}.yaml`],
    ['diff', `${odd}.yaml`, `${odd}.yaml`],
    ['explain', 'GET', `/${odd}`],
    ['explain', 'GET', '/', '--config', `${odd}.yaml`],
    ['simulate', `${odd}.log`],
    ['suggest', `${odd}.log`],
    ['test', `${odd}.yaml`],
    ['who', odd],
    ['serve', `${odd}.yaml`],
    [odd],
    ['check', `--${odd}`],
  ])('holds nothing that a terminal obeys: weir %s', async (...words) => {
    const { out, err } = await weir(words);
    expect(out + err).toMatch(/^[^\0-\x09\x0b-\x1f\x7f-\x9f\u202e]+$/);
  });

  it('names what a file holds by escapes', async () => {
    const file = await configOf(
      `upstreams: { "a\\e[2J\\x9b\\u202e": { url: "http://a" } }\nroutes: []\nlisten: { http: '127.0.0.1:0' }\n`,
    );
    const { out, err } = await weir(['check', file]);
    expect(out + err).toContain('a\\u001b[2J\\u009b\\u202e');
  });

  const shell = async (script: string) => {
    const words = ['-c', script, process.execPath, await bundledScript()];
    return new Promise<Ended>(done => {
      const child = execFile('bash', words, (_, out, err) => done({ code: child.exitCode ?? -1, out, err }));
    });
  };

  it('comes to the end for a reader that is slow', async () => {
    const { out } = await shell('"$0" "$1" schema | (head -c 1; sleep 0.3; cat)');
    expect(JSON.parse(out)).toMatchObject({ $schema: expect.any(String) });
    expect(out.length).toBeGreaterThan(65_536);
  });

  it('may be read in part, and the exit code stays that of the command', async () => {
    const { err } = await shell('"$0" "$1" schema | true; echo "$PIPESTATUS" >&2');
    expect(err).toBe('0\n');
    const wrong = await shell('"$0" "$1" check nowhere.yaml 2>&1 | true; exit "$PIPESTATUS"');
    expect(wrong).toEqual({ code: 1, out: '', err: '' });
  });

  it.runIf(process.platform === 'linux')('says why it cannot be written', async () => {
    const said = { code: 1, out: '', err: 'weir: cannot write to standard output: ENOSPC\n' };
    expect(await shell('"$0" "$1" schema > /dev/full')).toEqual(said);
    expect(await shell('"$0" "$1" nonsense 2> /dev/full')).toEqual({ code: 64, out: '', err: '' });
  });
});
