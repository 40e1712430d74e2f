import { type Fields, RpcCode } from '../../core/index.ts';
import { keepCallTrailers } from '../../http/index.ts';
import type { Rejection } from '../../http1/index.ts';
import { GRPC as GRPC_CALL } from '../../routing/index.ts';
import {
  callReset,
  grpcStatusFields,
  grpcStatusIn,
  meantScope,
  renderGrpcError,
  upstreamFailed,
} from '../responses/index.ts';
import type { Dialect } from './dialect.ts';

/** Calls of gRPC (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). */
export const GRPC: Dialect = {
  protocol: 'grpc',
  isPaced: false,
  routedMethod: () => GRPC_CALL,
  timeoutMs: readGrpcTimeout,
  upstreamFailed: ({ resetCode, cause }) =>
    resetCode === null ? upstreamFailed(cause) : callReset(resetCode, cause),
  render: renderGrpcError,
  trailersFor: grpcStatusFields,
  keepTrailers: keepCallTrailers,
  noteEnd: (response, fields) => {
    const code = grpcStatusIn(fields);
    if (code === null) return;
    response.grpcStatus = code;
    if (code === RpcCode.resourceExhausted && response.error === null)
      response.limitedBy = meantScope(fields);
  },
};

/** Milliseconds in each unit of `grpc-timeout`. */
const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

/** Node's timers cannot run longer (24 days). A later deadline has no effect worth a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The deadline of a call: at most 8 digits and a unit. With two of them, the upstream might use the other one. */
export function readGrpcTimeout(fields: Fields): number | null | Rejection {
  let text: string | null = null;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i] !== 'grpc-timeout') continue;
    if (text !== null) return { rejected: 'the field grpc-timeout came twice' };
    text = fields[i + 1] ?? '';
  }
  if (text === null) return null;
  const unitMs = UNITS_MS.get(text.slice(-1));
  if (unitMs === undefined || !/^\d{1,8}.$/.test(text))
    return { rejected: 'the field grpc-timeout is not a number of up to 8 digits with a unit' };
  const ms = Number(text.slice(0, -1)) * unitMs;
  return ms > MAX_TIMER_MS ? null : ms;
}
