// The floors, doors and cycles of src/ as rules; part of `npm run lint`. src/README.md tells what the floors are for.
// TypeScript 7 has no JavaScript interface, so swc reads the files; it shows imports of types as well, and they count: a
// room that knows the types of another knows that room. (An inline `import('...').Type` it does not show, so Biome forbids it.)

/** Rooms by floor, lowest first. A room is a folder of src/, or a file that stands alone in it. */
const FLOORS = [
  ['core'],
  [
    'http',
    'http1',
    'http2',
    'grpc-web',
    'proxy-protocol',
    'routing',
    'limits',
    'redis',
    'auth',
    'signin',
    'upstream',
    'websocket',
    'observe',
    'tls',
  ],
  ['config'],
  ['runtime', 'explain'],
  ['gateway', 'simulation'],
  ['server', 'admin', 'limit-tests'],
  ['app'],
  ['workers'],
  ['main', 'cli', 'demo'],
];

/** Rooms do not know their neighbours on the floor, with these exceptions. */
const NEIGHBOURS = {
  // Budgets are counted in the tables of limits/.
  auth: ['http', 'limits'],
  signin: ['http'],
  // The shared store of limits is one of those that limits/ describes; ioredis stays out of that room.
  redis: ['limits'],
  upstream: ['http1', 'http2'],
  http: ['http1'],
  'proxy-protocol': ['http'],
  main: ['cli'],
  cli: ['demo'],
};

const ROOMS = FLOORS.flat();

/** A pattern for the files of these rooms: `src/core/...`, `src/app.ts`. */
const filesOf = rooms => `^src/(${rooms.join('|')})(/|\\.ts$)`;

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
    {
      name: 'door',
      comment: 'From outside, a room is entered by its index.ts alone.',
      severity: 'error',
      from: { path: '^src/([^/]+)' },
      to: { path: '^src/[^/]+/', pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$'] },
    },
    {
      name: 'inner-door',
      comment: 'Inside a room, a sub-folder is entered by its index.ts alone.',
      severity: 'error',
      from: { path: '^src/([^/]+)/([^/]+)' },
      to: { path: '^src/$1/[^/]+/', pathNot: ['^src/$1/$2/', '^src/$1/[^/]+/index\\.ts$'] },
    },
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
        'http1/, http2/ and grpc-web/ turn bytes into messages and back. Sockets and timers are in server/ and upstream/.',
      severity: 'error',
      from: { path: '^src/(http[12]|grpc-web)/' },
      to: { path: '^(node:)?(net|tls|stream|timers)(/|$)' },
    },
    {
      name: 'one-file-knows-redis',
      comment:
        'In runtime/, shared-store.ts alone knows Redis. The rest shares facts, claims and offences by interfaces (core/facts.ts).',
      severity: 'error',
      from: { path: '^src/runtime/', pathNot: '^src/runtime/shared-store\\.ts$' },
      to: { path: '^src/redis/' },
    },
    {
      name: 'serve-loads-no-tools',
      comment: 'What serves is loaded without the demo, the simulation and the tests of limits.',
      severity: 'error',
      from: { path: '^src/(cli/serve\\.ts$|app/|core/)' },
      to: { path: '^src/(demo|simulation|limit-tests)/', reachable: true },
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
      from: { path: '^src/', pathNot: '^src/demo/' },
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
