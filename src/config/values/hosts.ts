import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { readHost } from '../../wire/http/index.ts';
import { PatternError } from '../routing/index.ts';
import { eachOnce } from './plain-values.ts';
import { messageOf, parsedText } from './refuse.ts';

const EXPECTED = 'a host such as api.example.com, or *.example.com for each name of one more label';

/** The hosts of a route, in their canonical form. */
export function routeHosts() {
  return z
    .array(host(), { error: 'expected a list of hosts such as [api.example.com, "*.example.com"]' })
    .min(1, { error: 'an empty list matches no request: leave out "hosts" to match every host' })
    .superRefine(eachOnce);
}

function host() {
  return parsedText(EXPECTED, `^${HOST_PATTERN}$`, parseHost).transform(parseHost);
}

// For the JSON Schema, since editors have no parser. Accepts everything that `parseHost` accepts, and more.
const LABEL = '[A-Za-z0-9_-]+';
const ADDRESS = '\\[[0-9A-Fa-f:.]+\\]';
const HOST_PATTERN = `(?:(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*\\.?|${ADDRESS})`;
/** The host of a line in limits.yaml. A host of one label ends in a dot (`splitHost`). */
export const HOST_OF_LINE_PATTERN = `(?:(?:\\*\\.)?(?:${LABEL}\\.)+(?:${LABEL})?|\\*\\.${LABEL}|localhost|${ADDRESS})`;

/** The canonical form of a host, or of a star and a domain. Throws a PatternError that says what to write instead. */
export function parseHost(text: string): string {
  const [, star = '', name = text] = /^(\*\.)(.*)$/s.exec(text) ?? [];
  const read = /[:*]/.test(name) && !name.startsWith('[') ? null : readHost(name);
  const hasPort = name.startsWith('[') && !name.endsWith(']');
  if (read === null || hasPort || (star !== '' && read.startsWith('[')))
    throw new PatternError(whyNoHost(text));
  return star + read;
}

/** Returns why this is not a host, without suggesting one that would also be refused. */
function whyNoHost(text: string): string {
  const { why, instead } = mistakeIn(text);
  const isSound = instead !== text && messageOf(PatternError, () => parseHost(instead)) === null;
  return isSound ? `${why}: write "${instead}"` : `${why}: write ${EXPECTED}`;
}

interface Mistake {
  readonly why: string;
  readonly instead: string;
}

function mistakeIn(text: string): Mistake {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(text) ?? [];
  if (scheme !== undefined) return { why: 'a host has no scheme', instead: rest.replace(/[/?#].*$/s, '') };
  if (text.includes('/')) return { why: 'a host has no path', instead: text.replace(/\/.*$/s, '') };
  if (text.includes('@')) return { why: 'a host has no user', instead: text.replace(/^.*@/s, '') };
  if (/^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text))
    return { why: 'an IPv6 address needs brackets', instead: `[${text}]` };
  if (/:\d*$/.test(text)) return { why: 'routes do not match ports', instead: text.replace(/:\d*$/, '') };
  if (/[^\x00-\x7f]/.test(text))
    return { why: 'clients send the ASCII form of a name', instead: inAscii(text) };
  if (text === '*' || text === '**') return { why: 'leave out "hosts" to match every host', instead: '' };
  if (text.startsWith('.')) return { why: 'a host does not begin with a dot', instead: `*${text}` };
  if (/[*{}]/.test(text))
    return {
      why: 'a star stands for one whole label, the first',
      instead: text.replace(/^[^.]*[*{][^.]*\./, '*.'),
    };
  return { why: `"${text}" is not a host`, instead: '' };
}

function inAscii(text: string): string {
  const star = text.startsWith('*.') ? '*.' : '';
  return star + domainToASCII(text.slice(star.length));
}
