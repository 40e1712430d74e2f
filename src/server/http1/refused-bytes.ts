import type { GatewayError } from '../../core/index.ts';
import { badRequest, headTooLarge, type RenderedResponse, versionNotSupported } from '../../gateway/index.ts';
import {
  type MalformedMessage,
  OtherVersion,
  OversizedHead,
  type ResponseTerms,
  responseHead,
} from '../../http1/index.ts';

/** Returns the error that answers bytes that are not a request. */
export function errorFor(fault: MalformedMessage): GatewayError {
  if (fault instanceof OversizedHead) return headTooLarge();
  return fault instanceof OtherVersion ? versionNotSupported(fault.isPreface) : notValid();
}

export function notValid(): GatewayError {
  return badRequest('it is not valid HTTP/1.1');
}

/** Writes a whole response as text. */
export function lastResponse(
  { status, reason, fields, body }: RenderedResponse,
  terms: ResponseTerms,
): string {
  return responseHead(status, reason, fields, terms) + body;
}
