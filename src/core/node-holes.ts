/** A hole in Node.js that a gateway meets. */
interface NodeHole {
  /** Their names, as the CVE programme lists them. */
  readonly names: readonly string[];
  /** What it allows. */
  readonly allows: string;
  /** A version without it, by line. A line that is not listed never got one. */
  readonly mendedIn: Readonly<Record<number, string>>;
}

/** When this list was last compared with what the Node.js project has announced. */
export const HOLES_LISTED_ON = '2026-11-28';

/** The newest line of the list: later ones began after these holes were mended. */
const NEWEST_LINE = 26;

/**
 * The holes of 2026 in lines that Weir runs on and in parts that it uses: TLS, names, sockets and JSON. Not listed: what only `node:http2`,
 * connections that Node's client keeps, decompression, snapshots and the permission model have, which it does not use.
 * Sources: https://nodejs.org/en/blog/vulnerability/october-2026-security-releases, the files of
 * https://github.com/nodejs/security-wg/tree/main/vuln/core, and the changelogs of the versions named here
 */
const HOLES: readonly NodeHole[] = [
  {
    names: ['CVE-2026-105483', 'CVE-2026-106069', 'CVE-2026-106072'],
    allows: 'a certificate for another name can pass where a host is an oddly spelt IPv4 address',
    mendedIn: { 24: '24.22.1', 26: '26.12.1' },
  },
  {
    names: ['CVE-2026-105482'],
    allows: 'a name with a NUL is looked up cut off',
    mendedIn: { 24: '24.22.1', 26: '26.12.1' },
  },
  {
    names: ['CVE-2026-58040'],
    allows: 'TLS resumes a session of another server without comparing the name',
    mendedIn: { 24: '24.18.1', 26: '26.5.1' },
  },
  {
    names: ['CVE-2026-48618', 'CVE-2026-48928', 'CVE-2026-48930', 'CVE-2026-48934'],
    allows: 'TLS compares names and sessions of servers too loosely',
    mendedIn: { 24: '24.17.0', 26: '26.3.1' },
  },
  {
    names: ['CVE-2026-21637'],
    allows: 'a client that names a strange server in its TLS handshake can end the process',
    mendedIn: { 24: '24.14.1', 25: '25.8.2', 26: '26.0.0' },
  },
  {
    names: ['CVE-2026-21717'],
    allows: 'JSON of keys that collide takes far more processor time than its size',
    mendedIn: { 24: '24.14.1', 25: '25.8.2', 26: '26.0.0' },
  },
];

/** The holes of a version of Node.js, in words: what it allows, its names, and the version to take. */
export function nodeHoles(version: string): readonly string[] {
  const line = Number(version.split('.')[0]);
  if (line > NEWEST_LINE) return [];
  return HOLES.filter(({ mendedIn }) => isOlder(version, mendedIn[line])).map(
    ({ allows, names, mendedIn }) =>
      `${allows} (${names.join(', ')}): take ${mendedIn[line] ?? `${mendedIn[NEWEST_LINE]}, since line ${line} gets no mended versions`}`,
  );
}

/** Whether a version is older than the mended one. True if none was mended. */
function isOlder(version: string, mended: string | undefined): boolean {
  if (mended === undefined) return true;
  const parts = version.split('.').map(part => Number.parseInt(part, 10));
  const [at, least] = mended
    .split('.')
    .map((part, index) => [parts[index] ?? 0, Number(part)] as const)
    .find(([has, wants]) => has !== wants) ?? [0, 0];
  return at < least;
}
