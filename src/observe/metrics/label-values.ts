import type {
  AdminChange,
  AdminEndpoint,
  AdminRefusal,
  Cap,
  DecidedBy,
  DiscoveryEvent,
  EvictionEvent,
  HandshakeOutcome,
  HeldOutcome,
  Http2FaultReason,
  IntrospectionOutcome,
  InvalidReason,
  NoticeOutcome,
  ProxyHeaderFault,
  RedeemOutcome,
  RestrictionEvent,
  RestrictionReason,
  RestrictionRefusal,
  SignatureAlgorithm,
  StoreFailure,
} from '../../core/index.ts';

// The closed lists that label values come from. Written as objects, so that the compiler notices when a value is missing.

function every<Value extends string>(values: Readonly<Record<Value, true>>): readonly Value[] {
  return Object.keys(values) as Value[];
}

export const NOTICE_OUTCOMES = every<NoticeOutcome>({
  accepted: true,
  outdated: true,
  refused: true,
  undecided: true,
  put_off: true,
});

export const HELD_OUTCOMES = every<HeldOutcome>({
  admitted: true,
  refused: true,
  abandoned: true,
  no_room: true,
});

export const PROXY_HEADER_FAULTS = every<ProxyHeaderFault>({
  untrusted_peer: true,
  missing: true,
  broken: true,
  late: true,
});

export const HANDSHAKE_OUTCOMES = every<HandshakeOutcome>({
  full: true,
  resumed: true,
  timeout: true,
  capacity: true,
  cleartext: true,
  no_overlap: true,
  client_certificate: true,
  rejected: true,
  closed: true,
  malformed: true,
});

export const HTTP2_FAULTS = every<Http2FaultReason>({
  resets: true,
  unexplained_bytes: true,
  control_frames: true,
  continuations: true,
  invalid_frames: true,
  refused_streams: true,
  protocol: true,
});

export const INVALID_REASONS = every<InvalidReason>({
  scheme: true,
  credentials: true,
  length: true,
  malformed: true,
  algorithm: true,
  critical: true,
  claim: true,
  issuer: true,
  audience: true,
  expired: true,
  lifetime: true,
  not_yet_valid: true,
  not_before: true,
  signed_out: true,
  token_kind: true,
  unknown_key: true,
  signature: true,
  inactive: true,
});

export const SIGNATURE_ALGORITHMS = every<SignatureAlgorithm>({
  RS256: true,
  RS384: true,
  RS512: true,
  PS256: true,
  PS384: true,
  PS512: true,
  ES256: true,
  ES384: true,
  ES512: true,
  EdDSA: true,
  Ed25519: true,
  Ed448: true,
});

export const REDEEM_OUTCOMES = every<RedeemOutcome>({
  success: true,
  bad_body: true,
  code_refused: true,
  token_refused: true,
  gateway_refused: true,
  not_ready: true,
  overloaded: true,
  unreachable: true,
  timed_out: true,
  broken: true,
  fault: true,
});

export const DISCOVERY_OUTCOMES = every<DiscoveryEvent['outcome']>({
  learnt: true,
  confirmed: true,
  failed: true,
});

export const INTROSPECTION_OUTCOMES = every<IntrospectionOutcome>({
  active: true,
  inactive: true,
  gateway_refused: true,
  not_ready: true,
  overloaded: true,
  unreachable: true,
  timed_out: true,
  broken: true,
  fault: true,
});

/** Caps that are of no upstream. */
export const GATEWAY_CAPS = every<Exclude<Cap, `max_${string}`> | 'max_in_flight'>({
  connections: true,
  connections_per_address: true,
  requests: true,
  requests_per_address: true,
  event_loop_delay: true,
  max_in_flight: true,
});

export const UPSTREAM_CAPS = every<Exclude<Cap & `max_${string}`, 'max_in_flight'>>({
  max_requests: true,
  max_requests_per_caller: true,
  max_websockets: true,
  max_websockets_per_caller: true,
  max_grpc_calls: true,
  max_grpc_calls_per_caller: true,
});

export const RESTRICTED_KINDS = every<RestrictionEvent['kind']>({
  address: true,
  principal: true,
  webhook: true,
});

export const RESTRICTION_TABLES = every<EvictionEvent['table']>({
  operator: true,
  principal: true,
  address: true,
  webhook: true,
});

/** What each reason restricts. */
const KINDS_OF: Readonly<Record<RestrictionReason, readonly RestrictionEvent['kind'][]>> = {
  invalid_requests: ['address'],
  webhook_not_found: ['webhook', 'address'],
  ignored_refusals: ['address', 'principal'],
  operator: ['address', 'principal'],
};

export const RESTRICTIONS = Object.entries(KINDS_OF).flatMap(([reason, kinds]) =>
  kinds.map(kind => ({ kind, reason })),
);

/** Why a restriction or a block refuses requests of an address, or of a bot or user. */
export const REFUSING_REASONS: Readonly<Record<'address' | 'caller', readonly RestrictionRefusal['why'][]>> =
  {
    address: ['invalid_requests', 'webhook_not_found', 'ignored_refusals', 'operator', 'blocked'],
    caller: ['ignored_refusals', 'operator', 'blocked'],
  };

export const ADMIN_CHANGES = every<AdminChange['what']>({
  restriction_added: true,
  restriction_lifted: true,
  buckets_reset: true,
});

export const ADMIN_REFUSALS = every<AdminRefusal>({
  wrong_token: true,
  too_many_tokens: true,
  no_token: true,
  foreign_origin: true,
});

export const ADMIN_ENDPOINTS = every<AdminEndpoint>({
  metrics: true,
  status: true,
  health: true,
  api: true,
  notices: true,
  other: true,
});

export const DECIDED_BY = every<DecidedBy>({
  redis: true,
  known_refusal: true,
  local: true,
  open: true,
  closed: true,
});

export const STORE_FAILURES = every<StoreFailure>({ timeout: true, disconnected: true, error: true });
