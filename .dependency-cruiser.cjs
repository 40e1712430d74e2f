// The floors, doors and cycles of src/ as rules; part of `npm run lint`. src/README.md tells what the floors are for.
// TypeScript 7 has no JavaScript interface, so swc reads the files; it shows imports of types as well, and they count: a
// room that knows the types of another knows that room. (An inline `import('...').Type` it does not show, so Biome forbids it.)

/**
 * Rooms by floor, lowest first. A room is a folder in a wing of src/, a wing that has no rooms, what a wing holds besides its
 * rooms, or a file that stands alone in src/.
 */
const FLOORS = [
  ['core'],
  [
    'wire/http',
    'wire/http1',
    'wire/http2',
    'wire/grpc-web',
    'wire/websocket',
    'edge/proxy-protocol',
    'edge/tls',
    'gateway/routing',
    'limits',
    'limits/redis',
    'identity/auth',
    'identity/signin',
    'upstream',
    'observe',
  ],
  ['config'],
  ['process/runtime', 'process/loading', 'explain'],
  ['gateway', 'offline/simulation'],
  ['edge/server', 'edge/admin', 'offline/limit-tests'],
  ['process/app'],
  ['process/workers'],
  ['main.ts', 'cli', 'cli/demo'],
];

/** Rooms do not know their neighbours on the floor, with these exceptions. */
const NEIGHBOURS = {
  // Budgets are counted in the tables of limits/.
  'identity/auth': ['wire/http', 'limits'],
  'identity/signin': ['wire/http'],
  // The shared store of limits is one of those that limits/ describes; ioredis stays out of that room.
  'limits/redis': ['limits'],
  upstream: ['wire/http1', 'wire/http2'],
  'wire/http': ['wire/http1'],
  'edge/proxy-protocol': ['wire/http'],
  'main.ts': ['cli'],
  cli: ['cli/demo'],
};

const ROOMS = FLOORS.flat();

/** A pattern for what is in a room: `src/core/...`, `src/main.ts`; not in the rooms inside of it. */
function patternOf(room) {
  if (room.endsWith('.ts')) return `${room}$`;
  const inner = ROOMS.filter(other => other.startsWith(`${room}/`)).map(other =>
    other.slice(room.length + 1),
  );
  const besides = inner.length === 0 ? '' : `(?!(?:${inner.join('|')})/)`;
  return `${room}/${besides}`;
}

/** A pattern for the files of these rooms. */
const filesOf = rooms => `^src/(?:${rooms.map(patternOf).join('|')})`;

/** A room may use itself, the floors below it, and the neighbours named above. */
function mayUse(room) {
  const floor = FLOORS.findIndex(rooms => rooms.includes(room));
  return [room, ...FLOORS.slice(0, floor).flat(), ...(NEIGHBOURS[room] ?? [])];
}

const floorRules = ROOMS.map(room => ({
  name: `floors-${room}`,
  comment: `${room} may use ${mayUse(room).join(', ')}. What must meet, meets on a higher floor.`,
  severity: 'error',
  from: { path: filesOf([room]) },
  to: { path: '^src/', pathNot: filesOf(mayUse(room)) },
}));

/** The commands that load the demo, the simulation or the tests of limits, and what they share. */
const TOOL_COMMANDS = ['demo', 'log-report', 'logs', 'simulate', 'suggest', 'test'];

module.exports = {
  forbidden: [
    ...floorRules,
    {
      name: 'room-has-a-floor',
      comment: 'A new room of src/ is given its floor in .dependency-cruiser.cjs and src/README.md.',
      severity: 'error',
      from: { path: '^src/', pathNot: filesOf(ROOMS) },
      to: {},
    },
    ...ROOMS.map(room => ({
      name: 'door',
      comment: 'From outside, a room is entered by its index.ts alone.',
      severity: 'error',
      from: { path: '^src/', pathNot: filesOf([room]) },
      to: { path: filesOf([room]), pathNot: [`^src/${room}/index\\.ts$`, `^src/main\\.ts$`] },
    })),
    ...ROOMS.map(room => ({
      name: 'inner-door',
      comment: 'Inside a room, a sub-folder is entered by its index.ts alone.',
      severity: 'error',
      from: { path: `${filesOf([room])}([^/]+)` },
      to: {
        path: `${filesOf([room])}[^/]+/`,
        pathNot: [`^src/${room}/$1/`, `^src/${room}/[^/]+/index\\.ts$`],
      },
    })),
    {
      name: 'no-cycle',
      comment: 'Files can be read one after the other.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'codec-without-sockets',
      comment:
        'wire/http1/, wire/http2/ and wire/grpc-web/ turn bytes into messages and back. Sockets and timers are in edge/server/ and upstream/.',
      severity: 'error',
      from: { path: '^src/wire/(http[12]|grpc-web)/' },
      to: { path: '^(node:)?(net|tls|stream|timers)(/|$)' },
    },
    {
      name: 'one-file-knows-redis',
      comment:
        'In process/runtime/, shared-store.ts alone knows Redis. The rest shares facts, claims and offences by interfaces (core/process-part.ts, core/facts.ts).',
      severity: 'error',
      from: { path: '^src/process/runtime/', pathNot: '^src/process/runtime/shared-store\\.ts$' },
      to: { path: '^src/limits/redis/' },
    },
    {
      name: 'tools-for-their-commands',
      comment:
        'The demo, the simulation and the tests of limits are loaded by their commands alone: not by what serves, nor by other commands.',
      severity: 'error',
      // `main.ts` and `cli/index.ts` reach every command, which they load only when it is called.
      from: {
        path: '^src/',
        pathNot: [`^src/(main|cli/(index|${TOOL_COMMANDS.join('|')}))\\.ts$`, '^src/(cli/demo|offline)/'],
      },
      to: { path: '^src/(cli/demo|offline)/', reachable: true },
    },
    {
      name: 'src-stands-alone',
      comment: 'What is published needs neither tests nor tools.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'runtime-dependencies',
      comment:
        'The gateway uses the packages under "dependencies"; only the demo, whose provider is optional, may use others.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/demo/' },
      // The SDK of OpenTelemetry is an optional peer, loaded where spans are exported.
      to: {
        dependencyTypes: ['npm-dev', 'npm-optional', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm-peer'],
      },
    },
    {
      name: 'resolvable',
      comment: 'An import names a file or package that exists.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};
