import type { RouteModel } from '../config/index.ts';
import { addressKey } from '../http/index.ts';
import type { ListedRestriction } from '../limits/index.ts';
import type { AskedCaller, ExplainedRow, RouteTaken } from './explanation.ts';

/** The restrictions in force at a running gateway. Those of one client are sorted: the one that ends last comes first. */
export interface ActiveRestrictions {
  ofAddress(key: string): readonly ListedRestriction[];
  ofCaller(principal: string): readonly ListedRestriction[];
  /** Lists the restrictions of this address on the webhook that the route and its parameters name. */
  onWebhook(key: string, route: RouteModel, params: readonly string[]): readonly ListedRestriction[];
}

/** Says which restrictions refuse this client now. Returns no rows if the request names no client. */
export function describeActive(
  { address, principal }: AskedCaller,
  taken: RouteTaken | null,
  active: ActiveRestrictions,
): { readonly rows: readonly ExplainedRow[]; readonly isRestricted: boolean } {
  if (address === null && principal === null) return { rows: [], isRestricted: false };
  const key = address === null ? null : addressKey(address);
  const ofAddress = key === null ? [] : active.ofAddress(key).map(each => inWords('the address', each));
  const onWebhook =
    key === null || taken === null
      ? []
      : active
          .onWebhook(key, taken.route, taken.params)
          .map(each => inWords('the address on this webhook', each));
  // Without a look at the token nobody knows the caller.
  const isKnown = taken !== null && taken.route.authentication !== 'none';
  const who = isKnown ? 'the caller' : 'the caller, though not here, where no token is looked at';
  const ofCaller = principal === null ? [] : active.ofCaller(principal).map(each => inWords(who, each));
  const texts = [...ofAddress, ...onWebhook, ...ofCaller];
  return {
    rows: (texts.length === 0 ? ['no'] : texts).map((text): ExplainedRow => ['restricted now', text]),
    isRestricted: ofAddress.length + onWebhook.length > 0 || (isKnown && ofCaller.length > 0),
  };
}

function inWords(who: string, { sinceEpochMs, untilEpochMs, reason, digest }: ListedRestriction): string {
  const why = reason === 'operator' ? 'by an operator' : `because of ${reason}`;
  return `${who}, ${why}, since ${moment(sinceEpochMs)} until ${moment(untilEpochMs)}; id ${digest}`;
}

function moment(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
