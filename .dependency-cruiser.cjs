// The floors of src/, lowest first. A file imports from its own folder and from lower floors only.
const floors = [
  ['core'],
  ['http', 'routing', 'limits', 'auth', 'signin', 'upstream', 'observe'],
  ['config'],
  ['gateway'],
  ['server', 'admin'],
  ['app'],
  ['main', 'cli', 'demo'],
];
const paths = rooms => `^src/(${rooms.join('|')})([./]|$)`;

const upward = floors.slice(0, -1).map((rooms, floor) => ({
  name: `floor-${floor}-looks-up`,
  comment: 'A lower floor must not know a higher one: see "The floors" in src/README.md.',
  severity: 'error',
  from: { path: paths(rooms) },
  to: { path: paths(floors.slice(floor + 1).flat()) },
}));

const neighbours = floors.flatMap(rooms =>
  rooms.map(room => ({
    name: `${room}-knows-a-neighbour`,
    comment: 'Rooms of one floor do not know each other; what must meet, meets in gateway/ or app.ts. http/ lies below its neighbours.',
    severity: 'error',
    from: { path: paths([room]) },
    to: { path: paths(rooms.filter(other => other !== room && !(floors[1].includes(room) && other === 'http') && room !== 'main' || (room === 'http' && other !== 'http')).filter(other => other !== room)) },
  })),
).filter(rule => !rule.to.path.includes('()'));

module.exports = {
  forbidden: [
    ...upward,
    ...neighbours,
    {
      name: 'through-the-door',
      comment: 'A folder is entered by its index.ts.',
      severity: 'error',
      from: { path: '^src/([^/]+)' },
      to: { path: '^src/([^/]+)/.+', pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$'] },
    },
    { name: 'no-cycle', comment: 'Read one file after the other.', severity: 'error', from: {}, to: { circular: true } },
    { name: 'not-to-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'not-to-dev-dep',
      comment: 'What is published must not need a development dependency; the demo is not published.',
      severity: 'error',
      from: { path: '^src', pathNot: '^src/demo' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    {
      name: 'only-core-reads-the-clock',
      comment: 'Clock and randomness are handed in.',
      severity: 'error',
      from: { path: '^src', pathNot: '^src/(core|cli|demo|app)' },
      to: { path: '^(node:)?perf_hooks$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    parser: 'swc',
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.js'], exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
