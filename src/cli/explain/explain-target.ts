import type { LoadedConfig } from '../../config/index.ts';
import { authorityOf, isPlainHost, parseTarget, type Target } from '../../http/index.ts';
import type { Rejection } from '../../http1/index.ts';
import { describeAddressLimit } from './explain-limits.ts';
import type { ExplainedFact } from './fact.ts';

/** The target as the gateway reads it, from a client that says in `Host` what an absolute form says as well. */
export function readTarget(method: string, sent: string): Target | Rejection {
  const host = authorityOf(sent);
  if (host !== null && !isPlainHost(host)) return { rejected: `"${host}" is no plain host` };
  return parseTarget(sent, host ?? '', method);
}

/** What becomes of the target before it is routed. */
export function describeTarget(sent: string, { path, query }: Target): ExplainedFact[] {
  const host = authorityOf(sent);
  const facts: ExplainedFact[] = host === null ? [] : [['Host', `has to be ${host} as well, else 400`]];
  if (sent === path + query) return facts;
  const form = path === '*' ? '*, the gateway itself' : `${path}, by which it is routed and sent on`;
  return [...facts, ['canonical path', form]];
}

/** An OPTIONS that is about the gateway and no path. */
export function describeServerWide(config: LoadedConfig): ExplainedFact[] {
  return [
    ['served by', 'the gateway itself: 204 with the methods that there are'],
    ['authentication', 'none: everyone may use it'],
    describeAddressLimit(config),
  ];
}
