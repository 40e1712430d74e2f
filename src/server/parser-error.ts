import type { GatewayError } from '../core/index.ts';
import { badRequest, clientTooSlow, headTooLarge, versionNotSupported } from '../gateway/index.ts';

const NOT_VALID = 'it is not valid HTTP/1.1';

/**
 * What an error of Node's parser means to the client; null when there is nobody to tell, since the connection broke.
 * The codes are llhttp's (https://github.com/nodejs/llhttp) and Node's own.
 */
export function parserError(
  error: NodeJS.ErrnoException & { readonly reason?: string },
): GatewayError | null {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return headTooLarge();
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return clientTooSlow();
    case 'HPE_INVALID_VERSION':
      // Also what llhttp says of a version that is fine and of a bare LF or a space behind it.
      return error.reason === 'Expected CRLF after version' ? badRequest(NOT_VALID) : versionNotSupported();
    default:
      return error.code?.startsWith('HPE_') === true ? badRequest(NOT_VALID) : null;
  }
}
