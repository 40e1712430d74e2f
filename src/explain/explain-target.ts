import { authorityOf, isPlainHost, parseTarget, type Target } from '../http/index.ts';
import type { Rejection } from '../http1/index.ts';
import type { Row } from './row.ts';

/** Reads the target as the gateway does, assuming that `Host` agrees with an absolute form. */
export function readTarget(method: string, sent: string): Target | Rejection {
  const host = authorityOf(sent);
  if (host !== null && !isPlainHost(host)) return { rejected: `"${host}" is not a plain host` };
  return parseTarget(sent, host ?? '', method);
}

/** Describes how the target changes before it is routed. */
export function describeTarget(sent: string, { path, query }: Target): Row[] {
  const host = authorityOf(sent);
  const rows: Row[] = host === null ? [] : [['Host', `must be ${host} too, else 400`]];
  if (sent === path + query) return rows;
  const form = path === '*' ? '*, the gateway itself' : `${path}, used for routing and sent upstream`;
  return [...rows, ['canonical path', form]];
}

/** Describes `OPTIONS *`, which is about the gateway rather than a path. */
export function describeServerWide(): Row[] {
  return [
    ['served by', 'the gateway itself: 204 with the supported methods'],
    ['authentication', 'none: open to everyone'],
    ['limits', 'none: it draws on nothing'],
  ];
}
