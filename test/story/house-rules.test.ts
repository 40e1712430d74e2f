import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const RULES = [
  '.dependency-cruiser.cjs',
  '.gitignore',
  'biome.json',
  'lint',
  'package.json',
  'tsconfig.json',
];

/** A small tree that keeps every rule. Each case below adds files that break one. */
const LAWFUL = {
  'src/core/index.ts': `export { core } from './core.ts';\n`,
  'src/core/core.ts': `export const core = Date.now();\n`,
  'src/wire/http/index.ts': `export { core as http } from '../../core/index.ts';\n`,
  'src/wire/http1/index.ts': `export { core as http1 } from '../../core/index.ts';\n`,
  'src/gateway/routing/index.ts': `export { core as routing } from '../../core/index.ts';\n`,
  'src/upstream/index.ts': `import { parse } from 'yaml';\nimport { http1 } from '../wire/http1/index.ts';\n\nexport const upstream = [http1, parse];\n`,
  'src/edge/server/index.ts': `export { upstream as server } from '../../upstream/index.ts';\n`,
  'src/edge/admin/index.ts': `export const admin = new Date(0);\n`,
  'src/process/app/index.ts': `export { server as app } from '../../edge/server/index.ts';\n`,
  'src/cli/index.ts': `import { app } from '../process/app/index.ts';\n\nconsole.log(app);\n`,
  'src/main.ts': `import './cli/index.ts';\n`,
  'test/support/help.ts': `export const help = 1;\n`,
};

let tree: string;

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), 'weir-rules-'));
  for (const name of RULES) await cp(join(CHECKOUT, name), join(tree, name), { recursive: true });
  await symlink(join(CHECKOUT, 'node_modules'), join(tree, 'node_modules'));
});

afterAll(() => rm(tree, { recursive: true }));

describe('the unit tests', () => {
  it('mirror the sources: each file is named after the source file that it tests', async () => {
    const strays: string[] = [];
    for await (const file of glob('**/*.test.ts', { cwd: join(CHECKOUT, 'test/unit') })) {
      // `FILE.SUBJECT.test.ts` tests FILE, too.
      const source = file.replace(/(?:\.[\w-]+)?\.test\.ts$/, '.ts');
      if (!existsSync(join(CHECKOUT, 'src', source))) strays.push(file);
    }
    expect(strays).toEqual([]);
  });
});

describe('the stories', () => {
  it('sleep for less than a second, and measure no duration', async () => {
    const breaches: string[] = [];
    for await (const file of glob('test/{story,store,long}/**/*.test.ts', { cwd: CHECKOUT })) {
      // Honest readers are slower than `client_read`: nothing but time shows that they are served.
      if (/\/(?:house-rules|honest-readers)\.test\.ts$/.test(file)) continue;
      const text = await readFile(join(CHECKOUT, file), 'utf8');
      const sleeps = text.matchAll(/\b(?:sleep|pause)\(([\d_]+)\)|setTimeout\(\w+, ([\d_]+)\)/g);
      for (const [call, asleep, timer] of sleeps)
        if (Number((asleep ?? timer)?.replaceAll('_', '')) >= 1_000) breaches.push(`${file}: ${call}`);
      if (text.includes('performance.now()')) breaches.push(`${file}: reads a clock to measure by`);
    }
    expect(breaches).toEqual([]);
  });
});

describe('the floors', () => {
  it('let a valid tree pass', async () => {
    expect(await brokenFloors({})).toEqual([]);
  });

  it.each<[rule: string, what: string, files: Readonly<Record<string, string>>]>([
    ['floors-core', 'a higher floor', { 'src/core/up.ts': `import '../wire/http/index.ts';\n` }],
    [
      'floors-gateway/routing',
      'a neighbour',
      { 'src/gateway/routing/side.ts': `import '../../wire/http/index.ts';\n` },
    ],
    [
      'floors-wire/http',
      'a neighbour above it',
      { 'src/wire/http/side.ts': `import '../../upstream/index.ts';\n` },
    ],
    [
      'floors-edge/server',
      'a neighbour of a higher floor',
      { 'src/edge/server/side.ts': `import '../admin/index.ts';\n` },
    ],
    [
      'floors-process/app',
      'the bin',
      { 'src/process/app/index.ts': `import '../../main.ts';\n`, 'src/main.ts': '' },
    ],
    [
      'floors-wire/http',
      'a type',
      {
        'src/wire/http/type.ts': `import type { A } from '../../process/app/index.ts';\n\nexport type B = A;\n`,
      },
    ],
    [
      'floors-wire/http',
      'a re-export',
      { 'src/wire/http/again.ts': `export * from '../../process/app/index.ts';\n` },
    ],
    [
      'floors-wire/http',
      'a late import',
      { 'src/wire/http/late.ts': `export const late = () => import('../../process/app/index.ts');\n` },
    ],
    [
      'floors-core',
      'an unknown room',
      { 'src/core/out.ts': `import '../new/index.ts';\n`, 'src/new/index.ts': '' },
    ],
    ['room-has-a-floor', 'a room without a floor', { 'src/new/index.ts': `import '../core/index.ts';\n` }],
    ['door', 'another door', { 'src/wire/http/window.ts': `import '../../core/core.ts';\n` }],
    [
      'inner-door',
      'another door inside a room',
      {
        'src/wire/http/a/one.ts': `export const one = 1;\n`,
        'src/wire/http/b/two.ts': `import '../a/one.ts';\n`,
      },
    ],
    ['codec-without-sockets', 'a socket', { 'src/wire/http1/socket.ts': `import 'node:net';\n` }],
    [
      'codec-without-sockets',
      'the type of one',
      {
        'src/wire/http1/type.ts': `import type { Socket } from 'node:net';\n\nexport type Wire = Socket;\n`,
      },
    ],
    [
      'serve-loads-no-tools',
      'what takes a simulation along',
      {
        'src/cli/serve.ts': `import './logs.ts';\n`,
        'src/cli/logs.ts': `import '../offline/simulation/index.ts';\n`,
        'src/offline/simulation/index.ts': '',
      },
    ],
    ['src-stands-alone', 'a test', { 'src/core/test.ts': `import '../../test/support/help.ts';\n` }],
    ['runtime-dependencies', 'a development package', { 'src/core/dev.ts': `import 'autocannon';\n` }],
    ['resolvable', 'a file that is not there', { 'src/core/gone.ts': `import './lost.ts';\n` }],
    [
      'resolvable',
      'a package that is not there',
      { 'src/core/gone.ts': `import 'no-such-package-at-all';\n` },
    ],
    ['no-cycle', 'a cycle', { 'src/core/a.ts': `import './b.ts';\n`, 'src/core/b.ts': `import './a.ts';\n` }],
  ])('%s refuses %s', async (rule, _what, files) => {
    expect(await brokenFloors(files)).toEqual([rule]);
  });
});

describe('the linter', () => {
  it('lets a valid tree pass', async () => {
    expect(await brokenLines({})).toEqual([]);
  });

  it.each([
    'Date.now()',
    'Date()',
    'new Date()',
    'performance.now()',
    'process.hrtime.bigint()',
    'Math.random()',
    'AbortSignal.timeout(1)',
  ])('refuses %s outside core/', async reading => {
    expect(await brokenLines({ 'src/wire/http/clock.ts': `export const x = ${reading};\n` })).toEqual([
      'plugin',
    ]);
  });

  it.each([
    'setTimeout(run, 1)',
    'setInterval(run, 1)',
    'setImmediate(run)',
    "fetch('http://127.0.0.1/')",
    "new WebSocket('ws://127.0.0.1/')",
  ])('refuses %s outside core/', async reach => {
    const text = `export const reach = (run: () => void) => [run, ${reach}];\n`;
    expect(await brokenLines({ 'src/wire/http/reach.ts': text })).toEqual(['lint/style/noRestrictedGlobals']);
  });

  it.each([
    ['connect', 'node:net'],
    ['connect', 'node:tls'],
    ['lookup', 'node:dns'],
    ['lookup', 'node:dns/promises'],
    ['createSocket', 'node:dgram'],
    ['request', 'node:http'],
    ['request', 'node:https'],
    ['connect', 'node:http2'],
    ['watch', 'node:fs'],
    ['readFile', 'node:fs/promises'],
    ['setTimeout', 'node:timers/promises'],
    ['randomBytes', 'node:crypto'],
  ])('refuses %s of %s outside core/', async (name, module) => {
    const broken = ['lint/style/noRestrictedImports'];
    expect(await brokenLines({ 'src/wire/http/a.ts': `export { ${name} } from '${module}';\n` })).toEqual(
      broken,
    );
    const text = `import { ${name} } from '${module}';\n\nexport const reach = ${name};\n`;
    expect(await brokenLines({ 'src/wire/http/reach.ts': text })).toEqual(broken);
    expect(await brokenLines({ 'src/core/reach.ts': text, 'src/cli/reach.ts': text })).toEqual([]);
  });

  it('refuses modules as a whole, and sockets made of what may be imported, outside core/', async () => {
    const whole = `import * as net from 'node:net';\n\nexport const whole = net;\n`;
    expect(await brokenLines({ 'src/wire/http/whole.ts': whole })).toEqual([
      'lint/style/noRestrictedImports',
    ]);
    const late = `export const late = () => import('node:net');\n`;
    expect(await brokenLines({ 'src/wire/http/late.ts': late })).toEqual(['lint/style/noRestrictedImports']);
    const made = `import { Socket } from 'node:net';\n\nexport const made = new Socket();\n`;
    expect(await brokenLines({ 'src/wire/http/made.ts': made })).toEqual(['plugin']);
  });

  it('lets every room import types of sockets and the pure functions beside them', async () => {
    const text = `import { BlockList, isIP, type Socket } from 'node:net';\nimport { createSecureContext } from 'node:tls';\n\nexport const pure = [BlockList, isIP, createSecureContext];\nexport type Wire = Socket;\n`;
    expect(await brokenLines({ 'src/wire/http/pure.ts': text })).toEqual([]);
  });

  it.each<[rule: string, line: string]>([
    ['lint/suspicious/noExplicitAny', 'export const x: any = 1;\n'],
    ['lint/style/noNonNullAssertion', 'export const f = (x: string | null): string => x!;\n'],
    ['lint/suspicious/noTsIgnore', `// @ts-ignore\nexport const x: number = 'text';\n`],
    ['lint/suspicious/noConsole', `console.log('here');\n`],
    ['plugin', `export type X = import('../../core/index.ts').Core;\n`],
  ])('%s holds in src/', async (rule, line) => {
    expect(await brokenLines({ 'src/wire/http/line.ts': line })).toEqual([rule]);
  });
});

describe('the check of words', () => {
  const complaints = async (files: Readonly<Record<string, string>>) => {
    await plant(files);
    return (await run('node', ['lint/words.ts'])).split('\n').filter(text => text.startsWith('src/'));
  };

  it.each<[where: string, name: string, text: string, words: string]>([
    ['a comment', 'wire/http/line.ts', '\n// The pool beside it.\nexport const x = 1;\n', 'beside'],
    ['a message', 'wire/http/line.ts', "\nexport const x = 'it mends';\n", 'mends'],
    ['a document', 'README.md', '# Rooms\nA known hole.\n', 'known hole'],
    ['a comment above a type', 'wire/http/line.ts', '\n/** Lists calls. */\nexport type X = 1;\n', 'Lists'],
  ])('refuses a word that is not ours in %s, and says what to write', async (_where, name, text, words) => {
    const [complaint = '', ...others] = await complaints({ [`src/${name}`]: text });
    expect(complaint).toMatch(`src/${name}:2: "${words}": write `);
    expect(others).toEqual([]);
  });

  it('leaves names and paths alone, and verbs above functions', async () => {
    const text = `import { beside } from '../core/beside.ts';\n\n/** Lists calls. */\nexport const x = () => beside;\n`;
    expect(await complaints({ 'src/wire/http/line.ts': text })).toEqual([]);
  });
});

/** Names of the dependency rules that the lawful tree breaks with these files added or replaced. */
async function brokenFloors(files: Readonly<Record<string, string>>): Promise<string[]> {
  await plant(files);
  const report: unknown = JSON.parse(await run('depcruise', ['src', '--output-type', 'json']));
  const violations = (report as { summary: { violations: { rule: { name: string } }[] } }).summary.violations;
  return [...new Set(violations.map(violation => violation.rule.name))];
}

/** Names of the linter's rules that are broken. */
async function brokenLines(files: Readonly<Record<string, string>>): Promise<string[]> {
  await plant(files);
  const report = await run('biome', ['lint', 'src', '--reporter=github']);
  return [...report.matchAll(/^::error title=([^,]+),/gm)].map(([, rule]) => rule ?? '');
}

async function plant(files: Readonly<Record<string, string>>): Promise<void> {
  await rm(join(tree, 'src'), { recursive: true, force: true });
  for (const [name, text] of Object.entries({ ...LAWFUL, ...files })) {
    await mkdir(dirname(join(tree, name)), { recursive: true });
    await writeFile(join(tree, name), text);
  }
}

/** What a tool writes, whether it is content or not: that is read from its report. */
function run(tool: string, parameters: readonly string[]): Promise<string> {
  const file = join(CHECKOUT, 'node_modules/.bin', tool);
  return new Promise(done => {
    execFile(file, parameters, { cwd: tree }, (_error, stdout) => done(stdout));
  });
}
