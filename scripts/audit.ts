// `npm run audit`: asks the registry for known vulnerabilities of what runs in production, and fails if there are some. Then lists, as a report
// only, which dependencies have newer versions.
//
// A registry may not answer: a mirror often serves packages and no advisories. That is said in capitals and is no failure, because a
// change of Weir must not wait for somebody else's server. A release does: with `--required`, as the workflow of releases has it, no
// answer is a failure too.
import { spawnSync } from 'node:child_process';

/** Lesser ones need a caller that passes on what clients send where no gateway does. */
const LEVEL = 'moderate';

const required = process.argv.includes('--required');
const { stdout } = npm('audit', '--omit=dev', '--omit=optional', `--audit-level=${LEVEL}`, '--json');
const { vulnerabilities, message } = parsed(stdout);
if (vulnerabilities === undefined) {
  console.log(`NOT AUDITED: the registry does not answer (${message ?? 'no reason given'}).`);
  if (required) process.exit(1);
} else {
  const found = Object.values(vulnerabilities).filter(
    ({ severity }) => severity !== 'info' && severity !== 'low',
  );
  for (const { name, severity, range } of found) console.log(`${severity}: ${name} ${range}`);
  console.log(
    `${found.length} vulnerabilities of ${LEVEL} or higher severity are known in what runs in production.`,
  );
  if (found.length > 0) process.exit(1);
}
console.log('Newer versions:');
console.log(npm('outdated').stdout.trim() || 'none');

interface Audit {
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly name: string; readonly severity: string; readonly range: string }>
  >;
  readonly message?: string;
}

function npm(...args: readonly string[]): { readonly stdout: string } {
  // It reports by its exit code as well, which says less.
  return spawnSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function parsed(text: string): Audit {
  try {
    return JSON.parse(text);
  } catch {
    return { message: 'npm printed nothing that can be read' };
  }
}
