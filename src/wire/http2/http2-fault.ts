import type { Http2FaultReason } from '../../core/index.ts';

/** Thrown when the peer broke a rule of HTTP/2 so that the connection cannot continue (RFC 9113, 5.4.1). */
export class Http2Fault extends Error {
  /** The error code for GOAWAY. */
  readonly code: number;
  readonly reason: Http2FaultReason;

  constructor(code: number, message: string, reason: Http2FaultReason = 'protocol') {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** Codes of RST_STREAM and GOAWAY (RFC 9113, 7). */
export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
  INADEQUATE_SECURITY: 0xc,
  HTTP_1_1_REQUIRED: 0xd,
} as const;

/** Returns the name of an error code, for the log and for clients. */
export function errorName(code: number): string {
  return Object.entries(ErrorCode).find(([, known]) => known === code)?.[0] ?? `code ${code}`;
}

/** Makes the fault for a violation without an error code of its own. */
export function protocolFault(message: string): Http2Fault {
  return new Http2Fault(ErrorCode.PROTOCOL_ERROR, message);
}

export function frameSizeFault(message: string): Http2Fault {
  return new Http2Fault(ErrorCode.FRAME_SIZE_ERROR, message);
}

export function flowControlFault(message: string): Http2Fault {
  return new Http2Fault(ErrorCode.FLOW_CONTROL_ERROR, message);
}

export function compressionFault(message: string): Http2Fault {
  return new Http2Fault(ErrorCode.COMPRESSION_ERROR, message);
}

/** Makes the fault for frames that cause more work than they may. */
export function tooMany(what: string, reason: Http2FaultReason): Http2Fault {
  return new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, `too many ${what}`, reason);
}
