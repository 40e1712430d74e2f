import { ErrorCode } from '../error-code.ts';
import { Http2Fault } from '../http2-fault.ts';

/** A violation for which there is no code of its own. */
export function protocolFault(message: string): Http2Fault {
  return new Http2Fault(ErrorCode.PROTOCOL_ERROR, message);
}

export function frameSizeFault(message: string): Http2Fault {
  return new Http2Fault(ErrorCode.FRAME_SIZE_ERROR, message);
}
