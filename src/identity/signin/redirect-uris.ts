/** A listed URI that allows any port: the text before and after the port. */
interface AnyPort {
  readonly before: string;
  readonly after: string;
}

const ANY_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]):)\*((?:[/?].*)?)$/s;
/** Decimal without leading zeros; at most 65535 is checked separately. */
const PORT = /^[1-9][0-9]{0,4}$/;

/**
 * The parts of a listed redirect URI with `*` as its port; `null` for any other. Only loopback can have one: a native app listens
 * there on a port that the system chooses (RFC 8252, 7.3), and not under the name localhost, which may resolve to another address
 * (8.3).
 */
function anyPortOf(listed: string): AnyPort | null {
  const [, before, after] = ANY_PORT.exec(listed) ?? [];
  return before === undefined || after === undefined ? null : { before, after };
}

/** Whether a listed redirect URI allows any port of loopback. */
export function hasAnyPort(listed: string): boolean {
  return anyPortOf(listed) !== null;
}

/** The redirect URIs whose codes are redeemed. They are compared character by character, except for a port of `*`. */
export class RedirectUris {
  readonly #exact: ReadonlySet<string>;
  readonly #anyPort: readonly AnyPort[];

  constructor(listed: readonly string[]) {
    this.#exact = new Set(listed.filter(uri => !hasAnyPort(uri)));
    this.#anyPort = listed.map(anyPortOf).filter(each => each !== null);
  }

  allows(uri: string): boolean {
    return this.#exact.has(uri) || this.#anyPort.some(each => isOfAPort(uri, each));
  }
}

function isOfAPort(uri: string, { before, after }: AnyPort): boolean {
  if (!uri.startsWith(before) || !uri.endsWith(after)) return false;
  const port = uri.slice(before.length, uri.length - after.length);
  return PORT.test(port) && Number(port) <= 65_535;
}
