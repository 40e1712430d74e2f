import { MissingPackages } from '../observe/index.ts';

/** Explains to the operator why the gateway could not start; usually it cannot listen on an address. */
export function whyNotStarted(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof MissingPackages) return error.message;
  const { code, syscall, address, port, hostname } = error as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly port?: number;
    readonly hostname?: string;
  };
  if (syscall === 'getaddrinfo') return `cannot listen on ${hostname}: the name has no address (${code})`;
  if (syscall !== 'listen') return error.stack ?? error.message;
  const place = address?.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  return `cannot listen on ${place}: ${REASONS[code ?? ''] ?? error.message}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another process already listens there. Stop it, or give this gateway addresses of its own under "listen" (several on one machine: docs/more-cores.md)',
  EACCES: 'permission denied (ports below 1024 need extra privileges)',
  EADDRNOTAVAIL: 'this machine has no such address',
};
