import {
  GatewayError,
  type GatewayErrorOptions,
  type IntrospectionOutcome,
  RpcCode,
} from '../../core/index.ts';

/** How asking the provider can fail. */
export type FailedIntrospection = Exclude<IntrospectionOutcome, 'active' | 'inactive'>;

export interface IntrospectionFailure {
  readonly outcome: FailedIntrospection;
  readonly error: GatewayError;
}

/** Never 401: clients discard a token that they are told is invalid, and this one may be valid. */
const UNDECIDED = {
  status: 503,
  rpcCode: RpcCode.unavailable,
  side: 'provider',
  message: 'The token cannot be checked at the moment. Try again shortly.',
  fields: ['Retry-After', '1'],
} satisfies Omit<GatewayErrorOptions, 'cause'>;

const FAULT = {
  status: 500,
  rpcCode: RpcCode.internal,
  side: 'gateway',
  message: 'The token cannot be checked because of a fault in this service.',
} satisfies Omit<GatewayErrorOptions, 'cause'>;

/** The client's responses. */
const RESPONSES: Readonly<Record<FailedIntrospection, Omit<GatewayErrorOptions, 'cause'>>> = {
  gateway_refused: FAULT,
  not_ready: UNDECIDED,
  overloaded: { ...UNDECIDED, side: 'gateway', cap: 'max_in_flight' },
  unreachable: UNDECIDED,
  timed_out: UNDECIDED,
  broken: UNDECIDED,
  fault: FAULT,
};

/** The failure with that outcome. `cause` goes to the log and must be safe there. */
export function introspectionFailure(outcome: FailedIntrospection, cause?: Error): IntrospectionFailure {
  return { outcome, error: new GatewayError({ ...RESPONSES[outcome], cause }) };
}
