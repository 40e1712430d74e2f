import { allValues, type Fields, listMembers, withoutFields } from '../../core/index.ts';
import { decodeBytes } from './target.ts';

/** Where a request may carry its token besides `Authorization`, for what browsers send without that field. */
export interface TokenPlace {
  readonly kind: 'query' | 'subprotocol' | 'cookie';
  readonly name: string;
}

/** The parts of a request that may carry a token. */
interface PlacedRequest {
  /** With its `?`; '' if there is none. */
  readonly query: string;
  readonly fields: Fields;
  readonly isWebSocket: boolean;
  /** Whether the page that sent it may use cookies (`mayUseCookies`). */
  readonly cookies: boolean;
}

/**
 * Fields in which browsers send the URL of a page. `Ping-From` and `Ping-To` replace `Referer` for a link's `ping`; htmx and
 * Turbolinks send the others with each request.
 */
const TELL_PAGES: ReadonlySet<string> = new Set([
  ...['referer', 'ping-from', 'ping-to', 'hx-current-url', 'turbolinks-referrer'],
]);

/** The places where a route accepts tokens. Tokens there are removed from what a service gets. */
export class TokenPlaces {
  readonly all: readonly TokenPlace[];
  /** The names of cookies. Browsers send them unchanged. */
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

  /** All tokens in these places of the request. */
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
    // If parts at the end were cut, remove the separator before them as well.
    const text = parts.at(-1) === kept.at(-1) ? rest : rest.replace(/[&;]$/, '');
    return text === '' ? '' : `?${text}`;
  }

  /** The fields without tokens, for services. */
  cutFields(fields: Fields): Fields {
    const kept: string[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [name, value] = [fields[i] as string, fields[i + 1] as string];
      const left = this.#cut(name.toLowerCase(), value);
      if (left !== '' || value === '') kept.push(name, left);
    }
    return this.#cutProtocols(kept);
  }

  /** What is left of a field's value; '' if nothing is. */
  #cut(name: string, value: string): string {
    if (name === 'cookie') return this.#cutCookie(value);
    if (!TELL_PAGES.has(name)) return value;
    // A page has no fragment here (RFC 9110, 10.1.3). One that is sent anyway may contain a token, as a query does.
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

  /** Reads all lines as one, since a list may span several (RFC 9110, 5.6.1). */
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
 * Whether the token in a cookie of this request counts: browsers send cookies for pages of every site. It counts if the page is of
 * the host itself or one of these origins. A WebSocket must name its origin, because browsers do not restrict those (RFC 6455,
 * 10.2).
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

/** A page over plain http may have been changed in transit, so it does not count as a page of a host with https. */
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

/** The name in `name=value`, with or without a separator after it. */
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
 * A name in the form in which some server might read it: decoded twice, the part after the last `?` or separator even if those were
 * encoded, ignoring letter case. As PHP does: a blank, a dot and a bracket become `_`, brackets make a list, and a NUL ends the
 * name.
 */
function folded(name: string): string {
  const [text = ''] = decoded(decoded(name)).replaceAll('+', ' ').split('\0', 1);
  // No regular expression here tries every character of a run as its beginning: that would take 0.3 s for a head of 16 KiB.
  return text
    .replace(/^.*[?&;]/s, '')
    .replace(/(?<![^\x21-\x7e])[^\x21-\x7e]+$/, '')
    .trim()
    .toLowerCase()
    .replace(/^(.[^[]*)\[.*\].*$/s, '$1')
    .replace(/[ .[]/g, '_');
}
