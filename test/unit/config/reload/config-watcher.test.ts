import { execFile } from 'node:child_process';
import {
  appendFile,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ConfigWatcher,
  formatDiagnostic,
  type LoadedConfig,
  loadConfig,
} from '../../../../src/config/index.ts';
import { thisMachine } from '../../../../src/core/index.ts';
import { NEEDED } from '../../../support/config-text.ts';
import { runs } from '../../../support/runs.ts';
import { tempFolder } from '../../../support/temp.ts';
import { sleep } from '../../../support/wait.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const SETTLE_MS = 50;
const SWAPS = runs(150, 20);
/** Never, for a test. */
const NO_POLL = 3_600_000;

type Files = Readonly<Record<string, string>>;

/** Files in a folder, and what a watcher said about them. */
class Room {
  readonly folder: string;
  readonly clock = new FrozenClock();
  readonly taken: LoadedConfig[] = [];
  readonly refused: string[][] = [];
  unchanged = 0;
  /** Runs when a configuration is taken. */
  onTake: () => void = () => {};
  #watcher: ConfigWatcher | null = null;

  constructor(folder: string) {
    this.folder = folder;
  }

  get watcher(): ConfigWatcher {
    if (this.#watcher === null) throw new Error('not started');
    return this.#watcher;
  }

  async start(path = 'gateway.yaml', settleMs = SETTLE_MS, pollMs = NO_POLL): Promise<void> {
    const loaded = await loadConfig(join(this.folder, path), { env: {}, generation: 1 });
    if (!loaded.ok) throw new Error(loaded.diagnostics.map(formatDiagnostic).join('\n'));
    const sink = {
      take: (next: LoadedConfig) => {
        this.onTake();
        this.taken.push(next);
      },
      refuse: (diagnostics: Parameters<typeof formatDiagnostic>[0][]) =>
        this.refused.push(
          diagnostics.map(diagnostic => formatDiagnostic(diagnostic).replaceAll(`${this.folder}/`, '')),
        ),
      unchanged: () => this.unchanged++,
      unwatched: (cause: unknown) => {
        throw cause;
      },
    };
    const options = {
      path: join(this.folder, path),
      env: {},
      loaded,
      sink,
      ...thisMachine,
      clock: this.clock,
    };
    this.#watcher = new ConfigWatcher({ ...options, settleMs, pollMs } as ConstructorParameters<
      typeof ConfigWatcher
    >[0]);
    onTestFinished(() => this.watcher.stop());
    await this.watcher.start();
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.folder, name)), { recursive: true });
    await writeFile(join(this.folder, name), text);
  }

  /** As editors do: a new file in the place of the old. */
  async replace(name: string, text: string): Promise<void> {
    await this.write(`${name}~`, text);
    await rename(join(this.folder, `${name}~`), join(this.folder, name));
  }

  /** Waits until so many were taken. */
  async takes(count: number): Promise<LoadedConfig> {
    await this.clock.advanceUntil(`${count} are taken`, () => this.taken.length >= count);
    expect(this.taken).toHaveLength(count);
    const last = this.taken.at(-1);
    if (last === undefined) throw new Error('nothing was taken');
    return last;
  }

  async refuses(count: number): Promise<string[]> {
    await this.clock.advanceUntil(`${count} are refused`, () => this.refused.length >= count);
    expect(this.refused).toHaveLength(count);
    return this.refused.at(-1) ?? [];
  }

  /** Lets time pass. Meanwhile events come, and looks read files. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await sleep(20);
  }

  /** Long enough for a change to be taken, if it were. */
  async quiet(): Promise<void> {
    for (let i = 0; i < 8; i++) await this.pass(SETTLE_MS);
  }
}

async function roomWith(files: Files): Promise<Room> {
  const room = new Room(await tempFolder());
  for (const [name, text] of Object.entries(files)) await room.write(name, text);
  return room;
}

const GATEWAY = `${NEEDED}limits: limits.yaml\n`;
const limitsOf = (number: number) => `global: { bot: ${number}/1s }\n`;
/** With eight limits a bucket, beside the global one and that of preflights: what has so many limits is quickly read. */
const manyLimits = (count: number) => {
  const names = Array.from({ length: count }, (_, n) => `b${n}`);
  const quotas = (from: number) =>
    ['user', 'bot', 'address', 'resource'].map((key, i) => `${key}: 1/${from + i}s`).join(', ');
  const buckets = names.map(name => `  ${name}: { main: id, ${quotas(1)}, shadow: { ${quotas(11)} } }`);
  const lines = names.map(name => `  GET /${name}/{id}: ${name}`);
  return ['buckets:', ...buckets, 'routes:', ...lines].join('\n');
};
const botsIn = ({ snapshot }: LoadedConfig) => snapshot.limits.global.bot.global?.units;

/** A folder as Kubernetes mounts a ConfigMap: each file a link into `..data`, which is a link to what is current. */
async function mount(room: Room, name: string, version: string, files: Files): Promise<void> {
  for (const [file, text] of Object.entries(files)) await room.write(`${name}/..${version}/${file}`, text);
  const at = (entry: string) => join(room.folder, name, entry);
  const before = await readFile(at('..current'), 'utf8').catch(() => null);
  await symlink(`..${version}`, at('..data_tmp'));
  await rename(at('..data_tmp'), at('..data'));
  for (const file of before === null ? Object.keys(files) : []) await symlink(`..data/${file}`, at(file));
  if (before !== null) await rm(at(`..${before}`), { recursive: true });
  await writeFile(at('..current'), version);
}

describe('a file that changes', () => {
  it('is taken with the next number', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    await room.write('limits.yaml', limitsOf(2));
    const next = await room.takes(1);
    expect(botsIn(next)).toBe(2);
    expect(next.snapshot.generation).toBe(2);
  });

  it('is taken when it is replaced by renaming, again and again', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    for (const [count, number] of [7, 8, 9].entries()) {
      await room.replace('limits.yaml', limitsOf(number));
      expect(botsIn(await room.takes(count + 1))).toBe(number);
    }
  });

  it('is not taken while it is being written', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start('gateway.yaml', 400);
    // Each piece is a file without errors, and comes before the last has rested.
    await room.write('limits.yaml', 'global: off\n');
    for (let piece = 0; piece < 6; piece++) {
      // In steps, so that a look that came too early would be over when the next is due.
      for (let step = 0; step < 3; step++) await room.pass(100);
      await appendFile(join(room.folder, 'limits.yaml'), `# ${piece}\n`);
    }
    await appendFile(join(room.folder, 'limits.yaml'), 'buckets: {}\n');
    await room.takes(1);
    expect(room.refused).toEqual([]);
  });

  it('is not taken for a change when its content is the same', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    await room.replace('limits.yaml', limitsOf(1));
    await utimes(join(room.folder, 'gateway.yaml'), new Date(), new Date());
    await room.quiet();
    expect([room.taken, room.refused, room.unchanged]).toEqual([[], [], 0]);
  });

  it('is found without an event', async () => {
    const room = await roomWith({
      'a/conf/gateway.yaml': GATEWAY,
      'a/conf/limits.yaml': limitsOf(1),
      'b/conf/gateway.yaml': GATEWAY,
      'b/conf/limits.yaml': limitsOf(2),
    });
    await room.start('a/conf/gateway.yaml', SETTLE_MS, 200);
    await rename(join(room.folder, 'a'), join(room.folder, 'c'));
    await rename(join(room.folder, 'b'), join(room.folder, 'a'));
    expect(botsIn(await room.takes(1))).toBe(2);
  });

  it('is waited for there too while it is being written', async () => {
    const room = await roomWith({
      'a/conf/gateway.yaml': GATEWAY,
      'a/conf/limits.yaml': limitsOf(1),
      'b/conf/gateway.yaml': GATEWAY,
      'b/conf/limits.yaml': 'global: {',
    });
    await room.start('a/conf/gateway.yaml', 600, 50);
    await rename(join(room.folder, 'a'), join(room.folder, 'c'));
    await rename(join(room.folder, 'b'), join(room.folder, 'a'));
    // One look sees it, however often it is time to poll meanwhile, and it changes before the next.
    for (let i = 0; i < 6; i++) await room.pass(50);
    await room.write('a/conf/limits.yaml', limitsOf(2));
    expect(botsIn(await room.takes(1))).toBe(2);
    expect(room.refused).toEqual([]);
  });

  it('is found in a folder that was put in the place of another', async () => {
    const room = await roomWith({ 'conf/gateway.yaml': GATEWAY, 'conf/limits.yaml': limitsOf(1) });
    await room.start('conf/gateway.yaml', SETTLE_MS, 200);
    await rm(join(room.folder, 'conf'), { recursive: true });
    await room.write('conf/gateway.yaml', GATEWAY);
    await room.write('conf/limits.yaml', limitsOf(2));
    await room.takes(1);
    await room.write('conf/limits.yaml', limitsOf(3));
    expect(botsIn(await room.takes(2))).toBe(3);
  });
});

describe('a bad file', () => {
  it('is refused once with all its errors, and a valid one after it is taken', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    await room.write('limits.yaml', 'globl: {}\nbuckets: { a: {} }\n');
    expect(await room.refuses(1)).toEqual([
      'limits.yaml:1:1: unknown key "globl", did you mean "global"?',
      expect.stringMatching(/^limits.yaml:2:12: .*the bucket "a" limits nobody/),
      expect.stringMatching(/^limits.yaml:2:12: warning: buckets: no line of "routes" uses the bucket "a"/),
    ]);
    await room.replace('limits.yaml', 'globl: {}\nbuckets: { a: {} }\n');
    await room.quiet();
    expect(room.refused).toHaveLength(1);
    await room.write('limits.yaml', limitsOf(3));
    const next = await room.takes(1);
    expect([botsIn(next), next.snapshot.generation]).toEqual([3, 2]);
  });

  it('keeps the other file from being taken', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    await room.write('gateway.yaml', `${GATEWAY}caps: { requests: none }\n`);
    await room.write('limits.yaml', limitsOf(2));
    await room.refuses(1);
    await room.quiet();
    expect(room.taken).toEqual([]);
  });

  it('that goes back to what it was changes nothing, which is said', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    await room.write('limits.yaml', 'global: 5\n');
    await room.refuses(1);
    await room.write('limits.yaml', limitsOf(1));
    await room.clock.advanceUntil('it is said', () => room.unchanged === 1);
    expect(room.taken).toEqual([]);
  });

  it('may be one that disappears, and comes back', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    await unlink(join(room.folder, 'limits.yaml'));
    expect(await room.refuses(1)).toEqual([expect.stringMatching(/^gateway.yaml:3:9: limits: no such file/)]);
    await room.write('limits.yaml', limitsOf(1));
    await room.clock.advanceUntil('it is back', () => room.unchanged === 1);
    await unlink(join(room.folder, 'gateway.yaml'));
    await room.refuses(2);
    await room.write('gateway.yaml', GATEWAY);
    await room.write('limits.yaml', limitsOf(4));
    expect(botsIn(await room.takes(1))).toBe(4);
  });

  it('may be a pipe that nobody writes to, which is refused: to open it would hold up each later reload, and the end of the process', async () => {
    const room = await roomWith({ 'gateway.yaml': NEEDED });
    await room.start();
    const path = join(room.folder, 'gateway.yaml');
    await promisify(execFile)('mkfifo', [`${path}~`]);
    await rename(`${path}~`, path);
    const message = 'gateway.yaml: this is a pipe or a device: a reload reads files only';
    expect(await room.refuses(1)).toEqual([message]);
    await room.watcher.reload();
    expect(await room.refuses(2)).toEqual([message]);
    await room.replace('gateway.yaml', `${NEEDED}log: { level: debug }\n`);
    await room.takes(1);
  });

  it('may have more limits than there is room for until a restart', async () => {
    const gatewayWith = (limitKeys: number) => `${GATEWAY}caps: { limit_keys: ${limitKeys} }\n`;
    const room = await roomWith({ 'gateway.yaml': gatewayWith(1_000), 'limits.yaml': limitsOf(1) });
    await room.start();
    await room.write('gateway.yaml', gatewayWith(1_000_000));
    await room.takes(1);
    await room.write('limits.yaml', manyLimits(512));
    expect(await room.refuses(1)).toEqual([
      'limits.yaml: there are 4098 limits, and with room for 1000 counters there may be 4096: write fewer, or restart the gateway',
    ]);
    await room.write('limits.yaml', manyLimits(511));
    await room.takes(2);
  });

  it('may be valid and still be refused by its consumer', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    room.onTake = () => {
      throw new Error('there is a reason');
    };
    await room.write('limits.yaml', limitsOf(2));
    expect(await room.refuses(1)).toEqual([
      'gateway.yaml: the configuration cannot be used: there is a reason',
    ]);
    room.onTake = () => {};
    await room.write('limits.yaml', limitsOf(3));
    expect((await room.takes(1)).snapshot.generation).toBe(2);
  });
});

describe('a mounted ConfigMap', () => {
  it('is taken at each swap of its link, as a whole', async () => {
    const room = await roomWith({});
    await mount(room, 'etc', 'one', { 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start('etc/gateway.yaml');
    for (const [count, version] of ['two', 'three', 'four'].entries()) {
      const gateway = `${GATEWAY}caps: { requests: ${100 + count} }\n`;
      await mount(room, 'etc', version, { 'gateway.yaml': gateway, 'limits.yaml': limitsOf(10 + count) });
      const next = await room.takes(count + 1);
      expect([next.snapshot.caps.requests, botsIn(next)]).toEqual([100 + count, 10 + count]);
    }
    expect(room.refused).toEqual([]);
  });

  it('is taken when its link is replaced, though the old target stays', async () => {
    const room = await roomWith({
      'v1/gateway.yaml': GATEWAY,
      'v1/limits.yaml': limitsOf(1),
      'v2/gateway.yaml': GATEWAY,
      'v2/limits.yaml': limitsOf(2),
    });
    const link = async (version: string) => {
      await symlink(version, join(room.folder, 'next'));
      await rename(join(room.folder, 'next'), join(room.folder, 'current'));
    };
    await link('v1');
    await room.start('current/gateway.yaml');
    await link('v2');
    expect(botsIn(await room.takes(1))).toBe(2);
    await link('v1');
    expect(botsIn(await room.takes(2))).toBe(1);
    await room.write('v1/limits.yaml', limitsOf(3));
    expect(botsIn(await room.takes(3))).toBe(3);
  });

  it('is never taken half from before a swap and half from after it', async () => {
    const filesOf = (number: number) => ({
      'gateway.yaml': `${GATEWAY}caps: { requests: ${number} }\n`,
      'limits.yaml': limitsOf(number),
    });
    const room = await roomWith({});
    await mount(room, 'etc', 'v1', filesOf(1));
    await room.start('etc/gateway.yaml', 1);
    const isLast = () => room.taken.at(-1)?.snapshot.caps.requests === SWAPS;
    // Time passes while they are mounted.
    const last = room.clock.advanceUntil('the last version is taken', isLast, 1);
    for (let number = 2; number <= SWAPS; number++) {
      await mount(room, 'etc', `v${number}`, filesOf(number));
      await sleep(number % 5);
    }
    await last;
    const parts = room.taken.map(taken => [taken.snapshot.caps.requests, botsIn(taken)]);
    expect(parts).toEqual(room.taken.map(({ snapshot: { caps } }) => [caps.requests, caps.requests]));
  });

  it('may be the folder of limits', async () => {
    const room = await roomWith({ 'gateway.yaml': `${NEEDED}limits: limits\n` });
    await mount(room, 'limits', 'one', { 'a.yaml': limitsOf(1), 'b.yaml': 'never_restrict: []\n' });
    await room.start();
    await mount(room, 'limits', 'two', { 'a.yaml': limitsOf(2), 'b.yaml': 'never_restrict: []\n' });
    expect(botsIn(await room.takes(1))).toBe(2);
    await mount(room, 'limits', 'three', { 'a.yaml': limitsOf(3), 'b.yaml': 'never_restrict: []\n' });
    expect(botsIn(await room.takes(2))).toBe(3);
  });
});

describe('what is followed', () => {
  it('is a secret too', async () => {
    const room = await roomWith({
      'gateway.yaml': `${NEEDED}log: { pseudonym_key_file: key }\n`,
      key: 'a'.repeat(40),
    });
    await room.start();
    await room.write('key', 'b'.repeat(40));
    expect((await room.takes(1)).snapshot.log.pseudonymKey?.toString()).toBe('b'.repeat(40));
  });

  it('is the file that a new configuration names', async () => {
    const room = await roomWith({
      'gateway.yaml': GATEWAY,
      'limits.yaml': limitsOf(1),
      'other/limits.yaml': limitsOf(2),
    });
    await room.start();
    await room.write('gateway.yaml', `${NEEDED}limits: other/limits.yaml\n`);
    expect(botsIn(await room.takes(1))).toBe(2);
    await room.quiet();
    await room.write('other/limits.yaml', limitsOf(3));
    expect(botsIn(await room.takes(2))).toBe(3);
    await room.write('limits.yaml', limitsOf(4));
    await room.quiet();
    expect(room.taken).toHaveLength(2);
  });

  it('is a file that joins the folder of limits, unless it is hidden', async () => {
    const room = await roomWith({
      'gateway.yaml': `${NEEDED}limits: limits\n`,
      'limits/a.yaml': 'never_restrict: []\n',
    });
    await room.start();
    await room.write('limits/.b.yaml', limitsOf(2));
    await room.quiet();
    expect(room.taken).toEqual([]);
    await room.write('limits/b.yaml', limitsOf(3));
    expect(botsIn(await room.takes(1))).toBe(3);
    await unlink(join(room.folder, 'limits/b.yaml'));
    expect(botsIn(await room.takes(2))).toBe(50);
  });
});

describe('a reload that is asked for', () => {
  it('does not wait for the file to settle', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start('gateway.yaml', 3_000);
    await room.write('limits.yaml', limitsOf(2));
    await room.watcher.reload();
    expect(botsIn(await room.takes(1))).toBe(2);
  });

  it('is one load for all that ask before it begins, and one more for those who ask meanwhile', async () => {
    const room = await roomWith({ 'gateway.yaml': NEEDED });
    await room.start();
    await Promise.all(Array.from({ length: 20 }, () => room.watcher.reload()));
    expect(room.unchanged).toBe(1);
    await room.replace('gateway.yaml', `${NEEDED}log: { level: debug }\n`);
    const asked: Promise<void>[] = [];
    room.onTake = () => void asked.push(room.watcher.reload(), room.watcher.reload());
    await room.watcher.reload();
    await Promise.all(asked);
    expect([room.taken.length, room.unchanged]).toEqual([1, 2]);
  });

  it('says that nothing has changed, and reports the errors once more', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    await room.watcher.reload();
    expect(room.unchanged).toBe(1);
    await room.write('limits.yaml', 'global: 5\n');
    await room.refuses(1);
    await room.watcher.reload();
    await room.refuses(2);
  });

  it('changes nothing after the end', async () => {
    const room = await roomWith({ 'gateway.yaml': GATEWAY, 'limits.yaml': limitsOf(1) });
    await room.start();
    await room.write('limits.yaml', limitsOf(2));
    await room.watcher.stop();
    await room.watcher.reload();
    await room.quiet();
    expect(room.taken).toEqual([]);
  });

  it('cannot be served from a pipe', async () => {
    const room = await roomWith({});
    const pipe = join(room.folder, 'gateway.yaml');
    await promisify(execFile)('mkfifo', [pipe]);
    const written = writeFile(pipe, NEEDED);
    await room.start();
    await written;
    await room.watcher.reload();
    expect(await room.refuses(1)).toEqual(['gateway.yaml: a pipe cannot be read a second time: name a file']);
  });
});
