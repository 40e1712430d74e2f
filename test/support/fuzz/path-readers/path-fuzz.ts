import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { formatDiagnostic } from '../../../../src/config/index.ts';
import { loadText } from '../../config-text.ts';
import { startGateway } from '../../gateway.ts';
import { atEnd } from '../../lifetime.ts';
import { Random } from '../../random.ts';
import { startIssuer } from '../../test-issuer.ts';
import type { Readings } from './services.ts';
import { anyPath, anySetup, type Setup } from './setups.ts';

export interface PathFuzz {
  readonly seed: number;
  readonly setups: number;
  readonly pathsEach: number;
}

export interface PathRun {
  /** Requests without a token that a program took for a resource of a guarded route, where `weir check` does not warn. */
  readonly findings: string[];
  /** Such requests where it warns. */
  readonly warned: string[];
  /** How many requests with an odd path the service got. */
  odd: number;
}

/** What `weir check` says where a service may read a path as that of a guarded route. */
const WARNINGS = /is led to the route in line|this route bypasses the one in line/;

/** Odd in a way that some routes pass. */
const ODD = /%2f|%25|\/\/|;|%3b/i;

/** Tells that the route passes escaped slashes: paths of other routes are not judged as programs read them that decode twice. */
const LOOSE = { 'X-Loose': '1' };

/**
 * Puts a service behind routes of which some are guarded, and asks for odd paths without a token.
 *
 * @param service its port. It answers with its `Readings`
 */
export async function fuzzPaths(service: number, { seed, setups, pathsEach }: PathFuzz): Promise<PathRun> {
  const random = new Random(seed);
  const { url: issuer } = await startIssuer();
  const tokens = { identity_provider: { issuer }, access_tokens: { audience: 'api' } };
  const kept: { readonly setup: Setup; readonly isWarned: boolean }[] = [];
  while (kept.length < setups) {
    const setup = anySetup(random);
    const loaded = await loadText(stringify({ ...tokens, ...configOf(setup, service, 0) }));
    if (loaded.ok)
      kept.push({ setup, isWarned: WARNINGS.test(loaded.warnings.map(formatDiagnostic).join()) });
  }
  const parts = kept.map(({ setup }, index) => configOf(setup, service, index));
  const upstreams = Object.assign({}, ...parts.map(part => part.upstreams));
  const config = { ...tokens, upstreams, routes: parts.flatMap(({ routes }) => routes) };
  const client = new Client((await startGateway({ upstreamPort: service, config })).port);
  const run: PathRun = { findings: [], warned: [], odd: 0 };
  const asked = kept.map(({ setup }) => Array.from({ length: pathsEach }, () => anyPath(random, setup)));
  const play = async ({ setup, isWarned }: (typeof kept)[number], index: number) => {
    const guards = new Guards(setup, client, hostOf(index));
    for (const path of asked[index] ?? []) {
      const { readings, isLoose } = await client.get(hostOf(index), path);
      if (ODD.test(path) && readings.length > 0) run.odd++;
      for (const [program, segments] of readings)
        if ((isLoose || !program.includes('twice')) && (await guards.guard(segments)))
          run[isWarned ? 'warned' : 'findings'].push(
            `${program} takes ${path} for /${segments.join('/')} with ${JSON.stringify(setup)}`,
          );
    }
  };
  await Promise.all(kept.map(play));
  return run;
}

/** Each setup has a host and an upstream of its own, so that one gateway serves all. */
function configOf({ base, routes }: Setup, service: number, index: number) {
  const upstream = `service-${index}`;
  return {
    upstreams: { [upstream]: { url: `http://127.0.0.1:${service}${base}` } },
    routes: routes.map(route => ({
      ...route,
      ...(route.encoded_slashes === 'pass' && { response_headers: { set: LOOSE } }),
      hosts: [hostOf(index)],
      upstream,
    })),
  };
}

function hostOf(index: number): string {
  return `setup-${index}.test`;
}

interface Answer {
  readonly status: number;
  /** None if the gateway or the service refused the request. */
  readonly readings: readonly (readonly [program: string, segments: readonly string[]])[];
  readonly isLoose: boolean;
}

/** Asks a gateway without a token. */
class Client {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });

  constructor(port: number) {
    this.#port = port;
    atEnd(() => this.#agent.destroy());
  }

  async get(host: string, path: string): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const options = {
      port: this.#port,
      host: '127.0.0.1',
      agent: this.#agent,
      path,
      headers: { Host: host },
    };
    request(options, async response => {
      const { statusCode: status = 0, headers } = response;
      const body = await text(response);
      const readings: Readings = status === 200 ? JSON.parse(body) : {};
      resolve({ status, readings: Object.entries(readings), isLoose: 'x-loose' in headers });
    })
      .on('error', reject)
      .end();
    return promise;
  }
}

/** Which resources of a service are guarded: those that plain paths reach with a token alone, whatever prefix they have. */
class Guards {
  readonly #setup: Setup;
  readonly #client: Client;
  readonly #host: string;
  readonly #known = new Map<string, Promise<boolean>>();

  constructor(setup: Setup, client: Client, host: string) {
    this.#setup = setup;
    this.#client = client;
    this.#host = host;
  }

  guard(segments: readonly string[]): Promise<boolean> {
    const resource = segments.filter(Boolean);
    const key = resource.join('/');
    const known = this.#known.get(key) ?? this.#ask(resource);
    this.#known.set(key, known);
    return known;
  }

  async #ask(resource: readonly string[]): Promise<boolean> {
    const { base, routes } = this.#setup;
    // No path of a client leads out of the path of the URL.
    if (base !== '' && `/${resource[0]}` !== base) return true;
    const names = resource.slice(base === '' ? 0 : 1);
    // The name of a resource is decoded in some programs, and as it was sent in others.
    const rests = new Set([names.map(encodeURIComponent).join('/')]);
    if (names.every(name => /^(?:[\w.~;-]|%[0-9A-F]{2})*$/.test(name))) rests.add(names.join('/'));
    const statuses: number[] = [];
    for (const { strip_prefix = '' } of routes)
      for (const rest of rests) {
        const path = `${strip_prefix}/${rest}`;
        // With and without a slash at the end: some routes redirect from one to the other.
        for (const spelt of [path.replace(/(?<=.)\/$/, ''), path.replace(/\/?$/, '/')])
          statuses.push((await this.#client.get(this.#host, spelt)).status);
      }
    return statuses.some(status => status === 401 || status === 403) && !statuses.includes(200);
  }
}
