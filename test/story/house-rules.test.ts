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

type Files = Readonly<Record<string, string>>;

/** A small tree that keeps every rule. Each case below adds files that break one: a tool reads all of its cases at once. */
const LAWFUL = {
  'src/core/index.ts': `export { core } from './core.ts';\n`,
  'src/core/core.ts': `export const core = Date.now();\n`,
  'src/wire/http/index.ts': `export { core as http } from '../../core/index.ts';\n`,
  'src/wire/http1/index.ts': `export { core as http1 } from '../../core/index.ts';\n`,
  'src/config/routing/index.ts': `export { core as routing } from '../../core/index.ts';\n`,
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
  const cases: readonly [rule: string, what: string, files: Files][] = [
    ['floors-core', 'a higher floor', { 'src/core/up.ts': `import '../wire/http/index.ts';\n` }],
    [
      'floors-identity/signin',
      'a neighbour',
      {
        'src/identity/signin/side.ts': `import '../auth/index.ts';\n`,
        'src/identity/auth/index.ts': '',
      },
    ],
    ['floors-limits', 'a neighbouring wing', { 'src/limits/side.ts': `import '../wire/http/index.ts';\n` }],
    [
      'floors-config/routing',
      'what is above it in its wing',
      { 'src/config/routing/up.ts': `import '../index.ts';\n`, 'src/config/index.ts': '' },
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
    ['floors-process/app', 'the bin', { 'src/process/app/up.ts': `import '../../main.ts';\n` }],
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
      { 'src/core/out.ts': `import '../unknown/index.ts';\n`, 'src/unknown/index.ts': '' },
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
      'tools-for-their-commands',
      'what takes a simulation along',
      {
        'src/cli/serve.ts': `import './logs.ts';\n`,
        'src/cli/logs.ts': `import '../offline/simulation/index.ts';\n`,
        'src/offline/simulation/index.ts': '',
      },
    ],
    [
      'tools-for-their-commands',
      'another command that takes tests of limits along',
      {
        'src/cli/check.ts': `import '../offline/limit-tests/index.ts';\n`,
        'src/offline/limit-tests/index.ts': '',
      },
    ],
    ['src-stands-alone', 'a test', { 'src/core/test.ts': `import '../../test/support/help.ts';\n` }],
    ['runtime-dependencies', 'a development package', { 'src/core/dev.ts': `import 'autocannon';\n` }],
    ['resolvable', 'a file that is not there', { 'src/core/gone.ts': `import './lost.ts';\n` }],
    [
      'resolvable',
      'a package that is not there',
      { 'src/core/package.ts': `import 'no-such-package-at-all';\n` },
    ],
    ['no-cycle', 'a cycle', { 'src/core/a.ts': `import './b.ts';\n`, 'src/core/b.ts': `import './a.ts';\n` }],
  ];
  let broken: Broken;

  beforeAll(async () => {
    await plant(...cases.map(([, , files]) => files));
    broken = await brokenFloors();
  });

  it('let a valid tree pass', () => {
    expect(broken(LAWFUL)).toEqual([]);
  });

  it.each(cases)('%s refuses %s', (rule, _what, files) => {
    expect(broken(files)).toEqual([rule]);
  });
});

describe('the linter', () => {
  const restricted = 'lint/style/noRestrictedImports';
  const clocks = [
    'Date.now()',
    'Date()',
    'new Date()',
    'performance.now()',
    'process.hrtime.bigint()',
    'Math.random()',
    'AbortSignal.timeout(1)',
  ].map((reading, index) => ({
    reading,
    files: { [`src/wire/http/clock-${index}.ts`]: `export const x = ${reading};\n` },
  }));
  const reaches = [
    'setTimeout(run, 1)',
    'setInterval(run, 1)',
    'setImmediate(run)',
    "fetch('http://127.0.0.1/')",
    "new WebSocket('ws://127.0.0.1/')",
  ].map((reach, index) => ({
    reach,
    files: {
      [`src/wire/http/reach-${index}.ts`]: `export const reach = (run: () => void) => [run, ${reach}];\n`,
    },
  }));
  const imports = [
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
  ].map(([name, module], index) => {
    const file = `import-${index}.ts`;
    const text = `import { ${name} } from '${module}';\n\nexport const reach = ${name};\n`;
    return {
      name,
      module,
      again: { [`src/wire/http/export-${index}.ts`]: `export { ${name} } from '${module}';\n` },
      used: { [`src/wire/http/${file}`]: text },
      allowed: { [`src/core/${file}`]: text, [`src/cli/${file}`]: text },
    };
  });
  const whole = {
    'src/wire/http/whole.ts': `import * as net from 'node:net';\n\nexport const whole = net;\n`,
  };
  const late = { 'src/wire/http/late.ts': `export const late = () => import('node:net');\n` };
  const made = {
    'src/wire/http/made.ts': `import { Socket } from 'node:net';\n\nexport const made = new Socket();\n`,
  };
  const pure = {
    'src/wire/http/pure.ts': `import { BlockList, isIP, type Socket } from 'node:net';\nimport { createSecureContext } from 'node:tls';\n\nexport const pure = [BlockList, isIP, createSecureContext];\nexport type Wire = Socket;\n`,
  };
  const lines = [
    ['lint/suspicious/noExplicitAny', 'export const x: any = 1;\n'],
    ['lint/style/noNonNullAssertion', 'export const f = (x: string | null): string => x!;\n'],
    ['lint/suspicious/noTsIgnore', `// @ts-ignore\nexport const x: number = 'text';\n`],
    ['lint/suspicious/noConsole', `console.log('here');\n`],
    ['plugin', `export type X = import('../../core/index.ts').Core;\n`],
  ].map(([rule = '', line = ''], index) => ({ rule, files: { [`src/wire/http/line-${index}.ts`]: line } }));
  let broken: Broken;

  beforeAll(async () => {
    await plant(
      ...[...clocks, ...reaches, ...lines].map(({ files }) => files),
      ...imports.flatMap(({ again, used, allowed }) => [again, used, allowed]),
      ...[whole, late, made, pure],
    );
    broken = await brokenLines();
  });

  it('lets a valid tree pass', () => {
    expect(broken(LAWFUL)).toEqual([]);
  });

  it.each(clocks)('refuses $reading outside core/', ({ files }) => {
    expect(broken(files)).toEqual(['plugin']);
  });

  it.each(reaches)('refuses $reach outside core/', ({ files }) => {
    expect(broken(files)).toEqual(['lint/style/noRestrictedGlobals']);
  });

  it.each(imports)('refuses $name of $module outside core/', ({ again, used, allowed }) => {
    expect([broken(again), broken(used), broken(allowed)]).toEqual([[restricted], [restricted], []]);
  });

  it('refuses modules as a whole, and sockets made of what may be imported, outside core/', () => {
    expect([broken(whole), broken(late), broken(made)]).toEqual([[restricted], [restricted], ['plugin']]);
  });

  it('lets every room import types of sockets and the pure functions beside them', () => {
    expect(broken(pure)).toEqual([]);
  });

  it.each(lines)('$rule holds in src/', ({ rule, files }) => {
    expect(broken(files)).toEqual([rule]);
  });
});

describe('the check of words', () => {
  const refused: readonly [where: string, name: string, text: string, words: string][] = [
    ['a comment', 'wire/http/comment.ts', '\n// The pool beside it.\nexport const x = 1;\n', 'beside'],
    ['a message', 'wire/http/message.ts', "\nexport const x = 'it mends';\n", 'mends'],
    ['a document', 'README.md', '# Rooms\nA known hole.\n', 'known hole'],
    ['a comment above a type', 'wire/http/type.ts', '\n/** Lists calls. */\nexport type X = 1;\n', 'Lists'],
  ];
  const allowed = {
    'src/wire/http/names.ts': `import { beside } from '../core/beside.ts';\n\n/** Lists calls. */\nexport const x = () => beside;\n`,
  };
  let complaints: readonly string[];

  beforeAll(async () => {
    await plant(allowed, ...refused.map(([, name, text]) => ({ [`src/${name}`]: text })));
    complaints = (await run('node', ['lint/words.ts'])).split('\n').filter(text => text.startsWith('src/'));
  });

  it.each(refused)(
    'refuses a word that is not ours in %s, and says what to write',
    (_where, name, _, words) => {
      const [complaint = '', ...others] = complaints.filter(text => text.startsWith(`src/${name}:`));
      expect(complaint).toMatch(`src/${name}:2: "${words}": write `);
      expect(others).toEqual([]);
    },
  );

  it('leaves names and paths alone, and verbs above functions', () => {
    expect(complaints).toHaveLength(refused.length);
  });
});

describe('the check of the lists of the house', () => {
  const lists = (...tasks: readonly { task: string; files: string[]; most: number }[]) =>
    `export const MECHANISMS = [];\nexport const TASKS = ${JSON.stringify(tasks)};\n`;
  const check = async (text: string) => {
    await plant({ 'lint/house-lists.ts': text });
    return (await run('node', ['lint/house.ts', '--check'])).trimEnd();
  };

  it.each([
    ['leaves a task alone that touches as many files as it may', 2, ['core/core.ts', 'core/index.ts'], ''],
    [
      'refuses a task that touches more files than it may',
      1,
      ['core/core.ts', 'core/index.ts'],
      'lint/house-lists.ts has 2 files for "a change", which should touch at most 1',
    ],
    [
      'refuses a file that is gone',
      1,
      ['core/gone.ts'],
      'lint/house-lists.ts names core/gone.ts, which src/ does not have',
    ],
  ])('%s', async (_what, most, files, said) => {
    expect(await check(lists({ task: 'a change', files, most }))).toBe(said);
  });
});

/** Names of the rules that these files break. */
type Broken = (files: Files) => string[];

/** What the dependency rules say of the planted tree. */
async function brokenFloors(): Promise<Broken> {
  const report: unknown = JSON.parse(await run('depcruise', ['src', '--output-type', 'json']));
  const { violations } = (report as { summary: { violations: { from: string; rule: { name: string } }[] } })
    .summary;
  return files => [
    ...new Set(violations.filter(({ from }) => from in files).map(violation => violation.rule.name)),
  ];
}

/** What the linter says of it. */
async function brokenLines(): Promise<Broken> {
  const report = await run('biome', ['lint', 'src', '--reporter=github', '--max-diagnostics=none']);
  const found = [...report.matchAll(/^::error title=([^,]+),file=[^,]*\/(src\/[^,]+),/gm)];
  return files => found.filter(([, , file = '']) => file in files).map(([, rule = '']) => rule);
}

/** Writes the lawful tree, and the files of all cases: each has names of its own. */
async function plant(...cases: readonly Files[]): Promise<void> {
  await rm(join(tree, 'src'), { recursive: true, force: true });
  const names = new Set<string>();
  for (const [name, text] of [LAWFUL, ...cases].flatMap(files => Object.entries(files))) {
    if (names.has(name)) throw new Error(`two cases have a file ${name}`);
    names.add(name);
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
