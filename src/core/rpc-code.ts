/**
 * The numeric codes of `google.rpc.Code`, the list that error bodies and gRPC statuses share.
 * Source: https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
 */
export const RpcCode = {
  /** Not an error. */
  ok: 0,
  /** The caller disconnected. */
  cancelled: 1,
  /** An error that has no better code. */
  unknown: 2,
  /** The request itself is wrong, whatever the state of the system. */
  invalidArgument: 3,
  /** Time ran out before the operation could finish. */
  deadlineExceeded: 4,
  /** The resource does not exist. */
  notFound: 5,
  /** The resource exists already. */
  alreadyExists: 6,
  /** The caller is known but may not do this. */
  permissionDenied: 7,
  /** A quota is used up. */
  resourceExhausted: 8,
  /** The system is not in the state that the operation needs. */
  failedPrecondition: 9,
  /** The operation was given up, for example after a conflict. */
  aborted: 10,
  /** Past the valid range. */
  outOfRange: 11,
  /** Not implemented or not supported here. */
  unimplemented: 12,
  /** A fault of this service. */
  internal: 13,
  /** The service cannot answer at the moment; trying again later may help. */
  unavailable: 14,
  /** Data was lost for good. */
  dataLoss: 15,
  /** No valid credentials. */
  unauthenticated: 16,
} as const;

export type RpcCode = (typeof RpcCode)[keyof typeof RpcCode];

const NAMES: ReadonlyMap<RpcCode, string> = new Map(
  Object.entries(RpcCode).map(([name, code]) => [code, name.replace(/[A-Z]/g, '_$&').toUpperCase()]),
);

/** `RESOURCE_EXHAUSTED`, as gRPC writes it. */
export function rpcCodeName(code: RpcCode): string {
  return NAMES.get(code) ?? '';
}
