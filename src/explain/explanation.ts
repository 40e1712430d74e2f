import type { ClassName, FilePlace, RouteModel } from '../config/index.ts';
import { type Limit, quotaInWords, windowsOf } from '../limits/index.ts';

export interface AskedRequest {
  /** `GRPC` for a gRPC call. */
  readonly method: string;
  /** The target as in a request line; for a gRPC call, package.Service/Method with or without a leading slash. */
  readonly target: string;
  readonly caller: AskedCaller;
}

/** The caller of the request. Members that are `null` are unknown: any caller could have sent it. */
export interface AskedCaller {
  /** The class of the caller, possibly one of gateway.yaml. */
  readonly as: ClassName | null;
  readonly address: string | null;
  /** The key of a bot or user, according to `as`. */
  readonly principal: string | null;
}

export interface RouteTaken {
  readonly route: RouteModel;
  readonly params: readonly string[];
}

export interface Explanation {
  readonly rows: readonly ExplainedRow[];
  readonly taken: boolean;
  /** The matching route; omitted if there is none. */
  readonly route?: RouteTaken;
}

/** An explanation for programs. */
export function asShape({ method, target }: AskedRequest, { rows, taken }: Explanation) {
  return { method, path: target, served: taken, facts: rows.map(([about, text]) => ({ about, text })) };
}

export type ExplainedRow = readonly [label: string, text: string];

export const IN_SHADOW = 'in shadow: it refuses nobody';

export function formatQuota(limit: Limit): string {
  const { role, claim, maxUnits, periodMs, calendar } = limit;
  const inWords = (units: number) => quotaInWords({ units, periodMs, calendar: calendar?.unit });
  const quota = windowsOf(limit).map(formatWindow).join(' and ');
  if (claim === null) return quota;
  if (role === 'group') return `${quota} for each value of the claim ${claim}`;
  return `the number in the claim ${claim}, at most ${inWords(maxUnits)}; without it ${quota}`;
}

function formatWindow({ units, periodMs, calendar, unit }: Limit): string {
  const quota = quotaInWords({ units, periodMs, calendar: calendar?.unit, unit });
  return calendar === null ? quota : `${quota} (${calendar.timeZone})`;
}

/** Formats where a limit is written: `config/limits.yaml:7`, or that it is the default. */
export function formatPlace(place: FilePlace | null): string {
  return place === null ? 'the default' : `${place.file}:${place.line}`;
}
