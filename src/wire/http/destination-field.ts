import type { Rejection } from '../http1/index.ts';
import { authorityOf, canonicalHost, parseTarget, readHost, type Target } from './target.ts';

/** A `Destination` in two parts: what stands before its path, '' for none, and the path with its query. */
interface NamedDestination {
  /** The scheme with its colon; '' if the field is a path alone. */
  readonly scheme: string;
  readonly target: Target;
}

/**
 * Reads where a MOVE or COPY leads (RFC 4918, 10.3): a path, or an http or https URL of the host that the client asked. Returns
 * `elsewhere` for another host, and why it is rejected for a path that could be read in two ways.
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
