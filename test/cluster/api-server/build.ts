import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const SOURCES = join(import.meta.dirname, 'kubernetes');
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'weir');
/** Of 1.x; an older one that may fetch newer ones does so by itself. */
const OLDEST_GO = 26;

/** Where the program is that `buildKubernetes` makes: API server and controllers in one. Changes with what it is made of. */
export function kubernetesProgram(): string {
  const digest = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) digest.update(readFileSync(join(SOURCES, file)));
  return join(CACHE, `kubernetes-${kubernetesVersion()}-${digest.digest('hex').slice(0, 12)}`);
}

function kubernetesVersion(): string {
  const goMod = readFileSync(join(SOURCES, 'go.mod'), 'utf8');
  return /k8s\.io\/kubernetes v(\S+)/.exec(goMod)?.[1] ?? '';
}

/** Builds it unless it is there. That takes minutes, once; the go command keeps what it compiled for the next version. */
export async function buildKubernetes(): Promise<void> {
  const program = kubernetesProgram();
  if (existsSync(program)) return;
  requireGo();
  mkdirSync(CACHE, { recursive: true });
  const startedAt = performance.now();
  process.stdout.write(
    `building the API server of Kubernetes ${kubernetesVersion()}, once, in about 6 minutes\n`,
  );
  const total = countPackages();
  await compile(`${program}.new`, total);
  renameSync(`${program}.new`, program);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  process.stdout.write(`built ${program} in ${seconds} s\n`);
}

function requireGo(): void {
  let version = '';
  try {
    version = execFileSync('go', ['env', 'GOVERSION'], { cwd: SOURCES, encoding: 'utf8' });
  } catch {
    // Said below.
  }
  const minor = Number(/^go1\.(\d+)/.exec(version)?.[1] ?? 0);
  if (minor < OLDEST_GO)
    throw new Error(
      `The API server is built with Go: install Go 1.${OLDEST_GO} or newer, or run npm run test:pods, which needs none.`,
    );
}

function countPackages(): number {
  const list = execFileSync('go', ['list', '-deps', '.'], { cwd: SOURCES, encoding: 'utf8', maxBuffer: 1e8 });
  return list.trim().split('\n').length;
}

/** At low priority: it would take the whole machine otherwise. */
async function compile(target: string, total: number): Promise<void> {
  const version = kubernetesVersion();
  const [major, minor] = version.split('.');
  const facts = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor };
  const stamps = Object.entries(facts).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  );
  const args = ['build', '-v', '-trimpath', '-ldflags', `-s -w ${stamps.join(' ')}`, '-o', target, '.'];
  const build = spawn('nice', ['go', ...args], { cwd: SOURCES, stdio: ['ignore', 'inherit', 'pipe'] });
  const said: string[] = [];
  for await (const line of createInterface({ input: build.stderr })) {
    said.push(line);
    if (said.length % 200 === 0)
      process.stdout.write(`  compiled ${said.length} of at most ${total} packages\n`);
  }
  if (build.exitCode === null) await new Promise(resolve => build.once('exit', resolve));
  if (build.exitCode !== 0) throw new Error(`go build failed:\n${said.slice(-20).join('\n')}`);
}
