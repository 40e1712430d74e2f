import type { Rejection } from '../http1/index.ts';
import { authorityOf, canonicalHost, parseTarget, readHost, type Target } from './target.ts';

/** A `Destination` in two parts: the text before its path, '' if there is none, and the path with its query. */
interface NamedDestination {
  /** The scheme with its colon; '' if the field is only a path. */
  readonly scheme: string;
  readonly target: Target;
}

/**
 * Reads where a MOVE or COPY leads (RFC 4918, 10.3): a path, or an http or https URL of the host that the client asked. Returns
 * `elsewhere` for another host, or the reason why the path is rejected.
 */
export function readDestination(value: string, host: string): NamedDestination | 'elsewhere' | Rejection {
  const authority = authorityOf(value);
  const target = parseTarget(value, authority ?? host);
  if ('rejected' in target) return target;
  const [scheme = ''] = authority === null ? [] : value.split('//', 1);
  const defaultPort = scheme.toLowerCase() === 'https:' ? /:443$/ : /:80$/;
  const isHere = authority === null || sameHost(authority, host, defaultPort);
  return isHere ? { scheme, target } : 'elsewhere';
}

function sameHost(one: string, other: string, defaultPort: RegExp): boolean {
  const [a, b] = [one, other].map(text => {
    const host = readHost(text);
    return host === null ? null : canonicalHost(text, host).replace(defaultPort, '');
  });
  return a !== null && a === b;
}
