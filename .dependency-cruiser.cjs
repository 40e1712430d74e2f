// The floors, doors and cycles of src/ as rules; part of `npm run lint`. src/README.md tells what the floors are for.
// TypeScript 7 has no JavaScript interface, so swc reads the files; it shows imports of types as well, and they count: a
// room that knows the types of another knows that room. (An inline `import('...').Type` it does not show, so Biome forbids it.)

/**
 * The wings of src/ by floor, lowest first, and the rooms of each wing by the same rule. A room is a folder of a wing, or what a wing holds
 * besides its rooms. `main.ts` stands alone in src/.
 */
const FLOORS = [
  { core: [['core']] },
  {
    wire: [['wire/http1', 'wire/http2', 'wire/grpc-web', 'wire/websocket', 'wire/tls'], ['wire/http']],
    limits: [['limits'], ['limits/redis']],
    observe: [['observe']],
  },
  { identity: [['identity/auth', 'identity/signin']], upstream: [['upstream']] },
  { config: [['config/routing'], ['config']] },
  { gateway: [['gateway/runtime'], ['gateway']], explain: [['explain']] },
  {
    edge: [['edge/proxy-protocol'], ['edge/server', 'edge/admin']],
    offline: [['offline/simulation'], ['offline/limit-tests']],
  },
  { process: [['process/loading'], ['process/app'], ['process/workers']] },
  { cli: [['cli/demo'], ['cli']] },
  { 'main.ts': [['main.ts']] },
];

const roomsOf = floor => Object.values(floor).flat(2);

const ROOMS = FLOORS.flatMap(roomsOf);

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

/** A room may use itself, all wings of lower floors, and what is lower in its own wing. */
function mayUse(room) {
  const floor = FLOORS.findIndex(wings => roomsOf(wings).includes(room));
  const wing = Object.values(FLOORS[floor]).find(rooms => rooms.flat().includes(room));
  const lower = wing.slice(
    0,
    wing.findIndex(rooms => rooms.includes(room)),
  );
  return [room, ...FLOORS.slice(0, floor).flatMap(roomsOf), ...lower.flat()];
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
        'In gateway/runtime/, shared-store.ts alone knows Redis. The rest shares facts, claims and offences by interfaces (core/process-part.ts, core/facts.ts).',
      severity: 'error',
      from: { path: '^src/gateway/runtime/', pathNot: '^src/gateway/runtime/shared-store\\.ts$' },
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
