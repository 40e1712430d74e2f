import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdminApiListener, type AdminEndpoint, GatewayError, RpcCode } from '../core/index.ts';
import { sendError } from './api/index.ts';

const ENDPOINTS: Readonly<Record<string, AdminEndpoint>> = {
  healthz: 'health',
  readyz: 'health',
  metrics: 'metrics',
  status: 'status',
  'status.json': 'status',
  'openapi.json': 'api',
  api: 'api',
  notices: 'notices',
};

/** Answers a request that the admin listener failed to serve, and reports the fault. */
export function answerFault(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  listener: AdminApiListener,
): void {
  // The client left before its body had arrived, which is no fault of the gateway.
  if (request.destroyed && !request.complete) return;
  const endpoint = ENDPOINTS[/^\/([a-z.]*)/.exec(request.url ?? '')?.[1] ?? ''] ?? 'other';
  listener.failed(endpoint, error);
  // Cut off, so that nobody takes what has been sent for the whole.
  if (response.headersSent) response.destroy();
  else sendError(response, fault());
}

function fault(): GatewayError {
  return new GatewayError({
    status: 500,
    rpcCode: RpcCode.internal,
    side: 'gateway',
    message: 'The admin listener failed to answer. The log has the cause.',
    close: true,
  });
}
