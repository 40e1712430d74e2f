/** When the logs that tests write begin. */
export const LOG_START_MS = Date.UTC(2026, 0, 1);

let sequence = 0;

/** A line of the access log, decided so long after the start. */
export function logLine(ms: number, change: Readonly<Record<string, unknown>> = {}): string {
  sequence++;
  const time = new Date(LOG_START_MS + ms).toISOString();
  const head = { level: 'info', time, type: 'access', instance: 'a', keyId: 'k', requestId: `r${sequence}` };
  const request = { sequence, protocol: 'http1', method: 'GET', path: '/v1/channels/{7}/messages' };
  const caller = { client: '192.0.2.1', class: 'user', caller: 'alice' };
  const decided = { bucket: 'messages', decision: 'admitted', decidedAt: LOG_START_MS + ms };
  const ended = { status: 200, upstreamMs: 1 };
  return `${JSON.stringify({ ...head, ...request, ...caller, ...decided, ...ended, ...change })}\n`;
}
