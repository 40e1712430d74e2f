import { type RouteModel, restrictedKey, type Snapshot } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import type { OffenceRule, Restriction } from '../limits/index.ts';
import { addressKey, addressOfKey, isListed } from '../wire/http/index.ts';
import { type AskedCaller, type ExplainedRow, formatPlace, type RouteTaken } from './explanation.ts';

/** Describes what may restrict a caller of this route, and after which offences. */
export function describeRestrictions(
  route: RouteModel,
  caller: AskedCaller,
  snapshot: Snapshot,
): ExplainedRow[] {
  if (whyBlocked(route, caller, snapshot) !== null) return [];
  const rows = describeSpared(route, caller, snapshot);
  if (rows.length === 0) rows.push(['restrictions', 'none']);
  return [...rows, ...describeFailedVerifications(route, snapshot)];
}

/** Describes which lists of `limits.yaml` contain a client. `key`: the key under which its address is counted. */
function listingOf(route: RouteModel | null, { address, principal }: AskedCaller, { limits }: Snapshot) {
  const { neverRestrict, keying } = limits;
  // A route that ignores tokens does not know the caller. Without a route, the token is not read.
  const isKnown = principal !== null && route !== null && route.authentication !== 'none';
  return {
    address,
    key: address === null ? null : addressKey(address, keying),
    principal: isKnown ? principal : null,
    isAddressSpared:
      address !== null && neverRestrict.addresses.has(addressOfKey(restrictedKey(address, limits))),
    isCallerSpared: isKnown && neverRestrict.callers.has(principal),
  };
}

/** Describes that `blocked` lists the client, and where; `null` if it does not. */
export function whyBlocked(route: RouteModel | null, caller: AskedCaller, snapshot: Snapshot): string | null {
  const { blocked } = snapshot.limits;
  if (blocked === null) return null;
  const { address, key, principal, isAddressSpared, isCallerSpared } = listingOf(route, caller, snapshot);
  const says = (who: string) =>
    `${who} is blocked: everything from it gets 429 (${formatPlace(snapshot.outline.places.of(['blocked']))})`;
  if (address !== null && key !== null && !isAddressSpared && isListed(address, key, blocked.addresses))
    return says(key);
  if (principal !== null && !isCallerSpared && blocked.callers.has(principal)) return says('the caller');
  return null;
}

/** Describes whether `never_restrict` lists the client, and which rules still apply. */
function describeSpared(route: RouteModel, caller: AskedCaller, snapshot: Snapshot): ExplainedRow[] {
  const { key, isAddressSpared, isCallerSpared } = listingOf(route, caller, snapshot);
  const place = formatPlace(snapshot.outline.places.of(['never_restrict']));
  const rules = describeRules(
    route,
    { as: caller.as, address: isAddressSpared, caller: isCallerSpared },
    snapshot,
  );
  const none = rules.length === 0 ? 'none: ' : '';
  const spare = (who: string | null) =>
    rules.unshift(['restrictions', `${none}${who} is among never_restrict (${place})`]);
  if (isAddressSpared) spare(key);
  if (isCallerSpared) spare('the caller');
  return rules;
}

/** Which of the possible clients are under `never_restrict`. */
interface Spared extends Pick<AskedCaller, 'as'> {
  readonly address: boolean;
  readonly caller: boolean;
}

/** Describes the rules by which a request of this client may be refused. */
function describeRules(
  route: RouteModel,
  spared: Spared,
  { limits, outline: { places } }: Snapshot,
): ExplainedRow[] {
  const { invalidRequests, webhookNotFound, ignoredRefusals } = limits;
  const rows: ExplainedRow[] = [];
  const add = (key: string, rule: OffenceRule | null, who: string, what: string): void => {
    if (rule === null) return;
    const { quota, restrictForMs } = rule;
    const place = formatPlace(places.of([key]));
    const once = `after more than ${quota.units} of its requests in ${formatDuration(quota.periodMs)} ${what}`;
    rows.push(['restrictions', `${who} for ${formatDuration(restrictForMs)}, ${once} (${place})`]);
  };
  if (!spared.address) {
    add('invalid_requests', invalidRequests, 'the address', 'ended with 401, 403 or 429');
    if (route.kind === 'forward' && route.webhook)
      add('webhook_not_found', webhookNotFound, 'the address on this webhook', 'got 404');
  }
  const who = whoIgnores(route, spared, ignoredRefusals?.addresses ?? false);
  // Requests from a spared address are not offences. But a caller that is restricted for requests from elsewhere is also refused
  // here.
  const elsewhere = spared.address ? 'from other addresses ' : '';
  const early = `${elsewhere}came before the Retry-After of a 429 was over`;
  if (who !== null) add('ignored_refusals', ignoredRefusals, who, early);
  return rows;
}

/** Describes which clients of this request `ignored_refusals` can restrict; `null` if none. */
function whoIgnores({ authentication }: RouteModel, spared: Spared, addresses: boolean): string | null {
  const isAddress = authentication === 'none' || spared.as === null || spared.as === 'address';
  const mayBeAddress = isAddress && addresses && !spared.address;
  const mayBeCaller = authentication !== 'none' && !spared.caller && spared.as !== 'address';
  if (mayBeCaller) return mayBeAddress ? 'the caller' : 'a bot or user';
  return mayBeAddress ? 'the address' : null;
}

function describeFailedVerifications(
  route: RouteModel,
  { identity, outline: { places } }: Snapshot,
): ExplainedRow[] {
  const budget = identity?.failedVerifications ?? null;
  if (route.authentication === 'none' || budget === null) return [];
  const quota = `${budget.limit} in ${formatDuration(budget.periodMs)} per address`;
  const place = formatPlace(places.of(['failed_verifications']));
  const then = 'then 429 for most of its unknown tokens until the period is over';
  return [['failed tokens', `${quota}; ${then} (${place})`]];
}

export function describeCors(route: RouteModel, { cors }: Snapshot): ExplainedRow[] {
  if (cors === null) return [['CORS', 'off: preflights are ordinary requests']];
  if (route.kind === 'answer' && !route.cors) return [['CORS', 'preflights are ordinary requests here']];
  if (route.kind === 'forward' && route.grpcWeb && !route.cors)
    return [['CORS', 'no page of another origin may call: preflights are ordinary requests']];
  if (route.kind === 'forward' && !route.cors)
    return [['CORS', 'left to the upstream: every preflight reaches it, as OPTIONS and without a token']];
  const origins = cors.origins === null ? ['any'] : [...cors.origins];
  const exposes =
    cors.exposeHeaders.length === 0 ? '' : `; pages may also read ${cors.exposeHeaders.join(', ')}`;
  return [
    [
      'CORS',
      `the gateway answers preflights, on a counter of their own; allowed origins: ${origins.join(', ')}${exposes}`,
    ],
  ];
}

/** The current restrictions of a running gateway. Those of one client are sorted: the one that ends last comes first. */
export interface ActiveRestrictions {
  ofAddress(key: string): readonly Restriction[];
  ofCaller(principal: string): readonly Restriction[];
  /** Returns the restrictions of this address on the webhook identified by the route and its parameters. */
  onWebhook(key: string, route: RouteModel, params: readonly string[]): readonly Restriction[];
  /** The restricted address that last refused a caller, and when, in milliseconds since the epoch; `null` if none did recently. */
  addressThatRefused(principal: string): { readonly address: string; readonly lastMs: number } | null;
}

/**
 * Describes which restrictions refuse this client now. Returns no rows if the request names no client, or if they are unknown.
 */
export function describeActive(
  { address, principal }: AskedCaller,
  taken: RouteTaken | null,
  active: ActiveRestrictions | null,
  { limits }: Snapshot,
): { readonly rows: readonly ExplainedRow[]; readonly isRestricted: boolean } {
  if (active === null || (address === null && principal === null)) return { rows: [], isRestricted: false };
  const key = address === null ? null : restrictedKey(address, limits);
  const ofAddress = key === null ? [] : active.ofAddress(key).map(each => inWords('the address', each));
  const onWebhook =
    key === null || taken === null
      ? []
      : active
          .onWebhook(key, taken.route, taken.params)
          .map(each => inWords('the address on this webhook', each));
  // The route ignores tokens, so the gateway does not know the caller.
  const isKnown = taken !== null && taken.route.authentication !== 'none';
  const who = isKnown ? 'the caller' : 'the caller (not here: this route ignores tokens)';
  const ofCaller = principal === null ? [] : active.ofCaller(principal).map(each => inWords(who, each));
  const texts = [...ofAddress, ...onWebhook, ...ofCaller];
  const refused = principal === null ? null : active.addressThatRefused(principal);
  const rows = (texts.length === 0 ? ['no'] : texts).map((text): ExplainedRow => ['restricted now', text]);
  if (refused !== null)
    rows.push([
      'address refused',
      `${refused.address}, from which the caller came at ${moment(refused.lastMs)}`,
    ]);
  return {
    rows,
    isRestricted: ofAddress.length + onWebhook.length > 0 || (isKnown && ofCaller.length > 0),
  };
}

function inWords(who: string, { sinceEpochMs, untilEpochMs, reason, digest }: Restriction): string {
  const why = reason === 'operator' ? 'by an operator' : `because of ${reason}`;
  return `${who}, ${why}, since ${moment(sinceEpochMs)} until ${moment(untilEpochMs)}; id ${digest}`;
}

function moment(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
