import type { RpcCode } from '../../core/index.ts';

/** `google.rpc.Status`: https://github.com/googleapis/googleapis/blob/master/google/rpc/status.proto */
export function rpcStatus(code: RpcCode, message: string, details: readonly Buffer[]): Buffer {
  return Buffer.concat([
    varintField(1, code),
    bytesField(2, Buffer.from(message)),
    ...details.map(detail => bytesField(3, detail)),
  ]);
}

/** `google.rpc.RetryInfo` as `google.protobuf.Any`; its `retry_delay` is a `google.protobuf.Duration`. */
export function retryInfo(delayMs: number): Buffer {
  const seconds = Math.floor(delayMs / 1_000);
  const nanos = (delayMs - seconds * 1_000) * 1_000_000;
  const delay = Buffer.concat([varintField(1, seconds), varintField(2, nanos)]);
  return Buffer.concat([
    bytesField(1, Buffer.from('type.googleapis.com/google.rpc.RetryInfo')),
    bytesField(2, bytesField(1, delay)),
  ]);
}

// The wire of protocol buffers: https://protobuf.dev/programming-guides/encoding/. Two kinds of fields are all that is needed.

function varintField(number: number, value: number): Buffer {
  return Buffer.from([...varint(number << 3), ...varint(value)]);
}

function bytesField(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes]);
}

/** A whole number from 0 to 2^31 - 1. */
function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
