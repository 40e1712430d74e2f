import { allValues, type Fields, listMembers, withoutFields } from '../../core/index.ts';
import { decodeBytes } from './target.ts';

/** Where a request may carry its token besides `Authorization`, for what browsers send without that field. */
export interface TokenPlace {
  readonly kind: 'query' | 'subprotocol' | 'cookie';
  readonly name: string;
}

/** A request as the places see it. */
interface PlacedRequest {
  /** With its `?`; '' if there is none. */
  readonly query: string;
  readonly fields: Fields;
  readonly isWebSocket: boolean;
  /** Whether the page that sent it may use cookies (`mayUseCookies`). */
  readonly cookies: boolean;
}

/**
 * Fields in which browsers send the URL of a page: `Ping-From` and `Ping-To` are sent for a link's `ping`, instead of `Referer`.
 * The others are sent by htmx and Turbolinks with each request.
 */
const TELL_PAGES: ReadonlySet<string> = new Set([
  ...['referer', 'ping-from', 'ping-to', 'hx-current-url', 'turbolinks-referrer'],
]);

/** The places of one route. What lies there is read at most once, and sent to no service. */
export class TokenPlaces {
  readonly all: readonly TokenPlace[];
  /** The names of cookies. A browser sends them as they are. */
  readonly #cookies: ReadonlySet<string>;
  /** All names as a server might read them. */
  readonly #folded: Readonly<Record<TokenPlace['kind'], ReadonlySet<string>>>;

  constructor(all: readonly TokenPlace[]) {
    const namesOf = (kind: TokenPlace['kind']) =>
      all.filter(each => each.kind === kind).map(({ name }) => name);
    const foldedOf = (kind: TokenPlace['kind']) => new Set(namesOf(kind).map(folded));
    this.all = all;
    this.#cookies = new Set(namesOf('cookie'));
    const [query, subprotocol, cookie] = [foldedOf('query'), foldedOf('subprotocol'), foldedOf('cookie')];
    this.#folded = { query, subprotocol, cookie };
  }

  /** Every token that the request carries there. */
  tokensIn({ query, fields, isWebSocket, cookies }: PlacedRequest): string[] {
    const found = [
      ...this.#inQuery(query),
      ...(isWebSocket ? this.#inProtocols(listMembers(fields, PROTOCOL)) : []),
      ...(cookies ? allValues(fields, 'cookie').flatMap(value => this.#inCookie(value)) : []),
    ];
    return found.filter(token => token !== '');
  }

  /** The query without its tokens, in whatever spelling a server could read their names. The rest stays as written. */
  cutQuery(query: string): string {
    const names = this.#folded.query;
    if (names.size === 0 || query === '') return query;
    const parts = query.slice(1).split(/(?<=[&;])/);
    const kept = parts.filter(part => !names.has(folded(nameIn(part))));
    if (kept.length === parts.length) return query;
    const rest = kept.join('');
    // What was cut from the end leaves the separator before it.
    const text = parts.at(-1) === kept.at(-1) ? rest : rest.replace(/[&;]$/, '');
    return text === '' ? '' : `?${text}`;
  }

  /** The fields without tokens: those for services. */
  cutFields(fields: Fields): Fields {
    const kept: string[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [name, value] = [fields[i] as string, fields[i + 1] as string];
      const left = this.#cut(name.toLowerCase(), value);
      if (left !== '' || value === '') kept.push(name, left);
    }
    return this.#cutProtocols(kept);
  }

  /** What is left of a field; '' for nothing. */
  #cut(name: string, value: string): string {
    if (name === 'cookie') return this.#cutCookie(value);
    if (!TELL_PAGES.has(name)) return value;
    // A fragment has no place there (RFC 9110, 10.1.3), and may hold what a query does.
    const [page = ''] = value.split('#', 1);
    const at = page.indexOf('?');
    return at === -1 ? page : page.slice(0, at) + this.cutQuery(page.slice(at));
  }

  #inQuery(query: string): string[] {
    const parts = query.slice(1).split(/[&;]/);
    return parts
      .filter(part => this.#folded.query.has(folded(nameIn(part))))
      .map(part => decoded(valueIn(part)));
  }

  #inCookie(value: string): string[] {
    const pairs = value.split(';').map(pair => pair.trim());
    return pairs.filter(pair => this.#cookies.has(nameIn(pair).trim())).map(pair => valueIn(pair).trim());
  }

  #cutCookie(value: string): string {
    const pairs = value.split(';');
    const kept = pairs.filter(pair => !this.#folded.cookie.has(folded(nameIn(pair))));
    return kept.length === pairs.length ? value : kept.join(';').trim();
  }

  #inProtocols(members: readonly string[]): string[] {
    return members.filter((_, i) => this.#isMark(members[i - 1]) && !this.#isMark(members[i - 2]));
  }

  /** A list may span lines (RFC 9110, 5.6.1), so all are read as one. */
  #cutProtocols(fields: string[]): string[] {
    const members = this.#folded.subprotocol.size === 0 ? [] : listMembers(fields, PROTOCOL);
    const kept = members.filter((member, i) => !this.#isMark(member) && !this.#isMark(members[i - 1]));
    if (kept.length === members.length) return fields;
    const others = withoutFields(fields, name => name.toLowerCase() === PROTOCOL);
    return kept.length === 0 ? others : [...others, 'Sec-WebSocket-Protocol', kept.join(', ')];
  }

  #isMark(member: string | undefined): boolean {
    return member !== undefined && this.#folded.subprotocol.has(folded(member));
  }
}

/**
 * Whether the token in a cookie of this request counts: browsers send cookies for pages of every site. Its page is that of the
 * host itself, or one of these origins; a WebSocket has to name it, since browsers hold nothing back there (RFC 6455, 10.2).
 *
 * @param own the address that the client sent the request to
 */
export function mayUseCookies(
  fields: Fields,
  isWebSocket: boolean,
  own: { readonly scheme: 'http' | 'https'; readonly host: string },
  origins: ReadonlySet<string>,
): boolean {
  const [named, sites] = [allValues(fields, 'origin'), allValues(fields, 'sec-fetch-site')];
  if (named.length > 0) return named.every(origin => origins.has(origin) || isOwn(origin, own));
  if (isWebSocket || sites.length === 0) return false;
  return sites.every(site => site === 'same-origin' || site === 'none');
}

/** A page of plain http may have been written by anyone on the way, so it is no page of a host with https. */
function isOwn(
  origin: string,
  { scheme, host }: { readonly scheme: string; readonly host: string },
): boolean {
  const [, ofPage = '', hostOfPage = ''] = /^(https?):\/\/([^/?#]+)$/.exec(origin) ?? [];
  const port = ofPage === 'https' ? ':443' : ':80';
  const withPort = (name: string) => (/:\d+$/.test(name) ? name : name + port);
  if (scheme === 'https' && ofPage !== 'https') return false;
  return ofPage !== '' && withPort(hostOfPage) === withPort(host.toLowerCase());
}

const PROTOCOL = 'sec-websocket-protocol';

/** The name in `name=value`, with a separator behind it or not. */
function nameIn(pair: string): string {
  return pair.split(/[=&;]/, 1)[0] as string;
}

function valueIn(pair: string): string {
  const at = pair.indexOf('=');
  return at === -1 ? '' : pair.slice(at + 1);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return decodeBytes(text);
  }
}

/**
 * A name as some server might read it: decoded twice, also before its query is split or behind the last `?`, in any letter case,
 * and as PHP does, where a blank, a dot and a bracket are other spellings of `_`, brackets make a list, and a NUL ends it.
 */
function folded(name: string): string {
  const [text = ''] = decoded(decoded(name)).replaceAll('+', ' ').split('\0', 1);
  // No expression tries each character of a run as its beginning: that would take 0.3 s for a head of 16 KiB.
  return text
    .replace(/^.*[?&;]/s, '')
    .replace(/(?<![^\x21-\x7e])[^\x21-\x7e]+$/, '')
    .trim()
    .toLowerCase()
    .replace(/^(.[^[]*)\[.*\].*$/s, '$1')
    .replace(/[ .[]/g, '_');
}
