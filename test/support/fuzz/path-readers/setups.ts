import type { ConfigPart } from '../../gateway.ts';
import type { Random } from '../../random.ts';

/** Routes to one service, of which some are guarded. */
export interface Setup {
  /** The path in the service's URL. */
  readonly base: '' | '/base';
  readonly routes: readonly RoutePart[];
}

export interface RoutePart extends ConfigPart {
  readonly path: string;
  readonly strip_prefix?: string;
}

const LITERALS = ['files', 'admin', 'v1'] as const;
const GUARDS = [{}, { networks: { deny: ['0.0.0.0/0'] }, authentication: 'none' }] as const;

export function anySetup(random: Random): Setup {
  const [guarded, open] = [anyRoute(random, true), anyRoute(random, false)];
  const others = Array.from({ length: random.below(3) }, () => anyRoute(random, random.chance(0.3)));
  return { base: random.chance(0.25) ? '/base' : '', routes: [guarded, open, ...others] };
}

function anyRoute(random: Random, isGuarded: boolean): RoutePart {
  const segments = Array.from({ length: random.below(4) }, (_, at) =>
    random.chance(0.75) ? random.pick(LITERALS) : `{p${at}}`,
  );
  const literals = segments.findIndex(segment => segment.startsWith('{'));
  const most = literals === -1 ? segments.length : literals;
  const hasTail = segments.length === 0 || random.chance(0.5);
  const path = `/${[...segments, ...(hasTail ? ['**'] : [])].join('/')}`;
  const stripped = random.chance(0.35) ? segments.slice(0, random.below(most + 1)) : [];
  return {
    path,
    ...(isGuarded ? random.pick(GUARDS) : { authentication: 'none' }),
    ...(stripped.length > 0 && { strip_prefix: `/${stripped.join('/')}` }),
    encoded_slashes: random.pick(['refuse', 'pass', 'pass']),
    empty_segments: random.pick(['refuse', 'merge', 'pass']),
    semicolons: random.pick(['refuse', 'pass']),
    ...(!hasTail && random.chance(0.3) && { trailing_slash: 'redirect' }),
  };
}

/** Often what some routes pass, seldom what none does. */
const SLASHES = [
  ...[
    '%2F',
    '%2f',
    '%2F',
    '%2f',
    '%252F',
    '%252f',
    '//',
    '//',
    '///',
    ';/',
    ';x/',
    '%3B/',
    '%3Bx/',
    '%253B/',
    '%2Fx/',
  ],
  ...[
    '/%2F',
    '%25252F',
    '\\',
    '%5C',
    '%255c',
    '/./',
    '/../',
    '/%2e/',
    '/%2E%2e/',
    '/x/../',
    '/x%2F..%2F',
    '%2F..%2F',
  ],
  ...[
    '/%252e%252e/',
    '/;/',
    '/;x/',
    '/%3Bx%2F',
    ';%2F',
    '/..;/',
    '/..;x%2F',
    '%2F;x/',
    '/%253B%252F',
    '%C0%AF',
  ],
  ...[
    '%25C0%25AF',
    '%E0%80%AF',
    '%00/',
    '%2500/',
    '/%09',
    '%E2%81%84',
    '?/',
    '%3F/',
    '%23/',
    '/%20',
    '/...;/',
    '+/',
  ],
];
const ENDS = [
  ';',
  ';x',
  '%3Bx',
  '/',
  '//',
  '%2F',
  '%2Fx',
  '%00',
  '%2500',
  '/..',
  '/x/..',
  '%2F..',
  '?x',
  '.',
  '%2e',
  '%20',
  '%3F',
];

/**
 * A path that may lead to a guarded resource by another way: that of a route, or one behind the path of another, with one to three
 * spellings that programs read in different ways.
 */
export function anyPath(random: Random, { routes }: Setup): string {
  const plain = (path: string) =>
    path
      .replace('**', random.pick(['', 'x', 'x/y', 'admin', 'files']))
      .replaceAll(/\{\w+\}/g, () => random.pick(['', 'x', ...LITERALS]));
  const { path: aim, strip_prefix = '' } = random.pick(routes);
  const { path: way, strip_prefix: prefix = '' } = random.pick(routes);
  const pieces = random
    .pick([
      plain(aim),
      prefix + plain(aim).slice(strip_prefix.length),
      plain(way) + plain(aim),
      `${plain(way)}/..${plain(aim)}`,
      `${prefix}/x/..${plain(aim)}`,
    ])
    .split(/(?<=\/)|(?=\/)/);
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const at = 1 + random.below(pieces.length);
    const piece = pieces[at];
    if (piece === undefined) pieces.push(random.pick(ENDS));
    else pieces[at] = piece === '/' ? random.pick(SLASHES) : respelt(random, piece);
  }
  return pieces.join('');
}

/** Escapes some letters, once or twice, or changes their case. */
function respelt(random: Random, segment: string): string {
  return segment.replaceAll(/./g, letter => {
    const hex = letter.charCodeAt(0).toString(16);
    return random.pick([letter, letter, letter, `%${hex}`, `%25${hex}`, letter.toUpperCase()]);
  });
}
