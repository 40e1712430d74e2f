import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { formatHostPort, type HostPort, readAdmin } from '../config/index.ts';
import { messageOf } from './output.ts';

const TIMEOUT_MS = 3_000;
/** A gateway that listens on all addresses of the machine is asked at this one. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export interface AdminReply {
  readonly status: number;
  readonly body: string;
}

/** The response of a gateway, or a message that says why there is none. */
export type Asked =
  | { readonly ok: true; readonly reply: AdminReply }
  | { readonly ok: false; readonly message: string };

/**
 * Asks the admin listener of the gateway that runs with this file, of which it reads "listen.admin" only.
 *
 * @param token `null` sends none
 */
export async function askAdmin(
  file: string,
  env: NodeJS.ProcessEnv,
  path: string,
  token: string | null = null,
): Promise<Asked> {
  const admin = await readAdmin(file, env);
  if (admin.kind === 'unknown') return { ok: false, message: admin.message };
  if (admin.kind === 'off')
    return { ok: false, message: `listen.admin of ${file} is off: there is nothing to ask` };
  const address = { ...admin.address, host: LOOPBACK[admin.address.host] ?? admin.address.host };
  try {
    return { ok: true, reply: await ask(address, admin.tls, path, token) };
  } catch (error) {
    const place = `${formatHostPort(address)} (listen.admin of ${file})`;
    return { ok: false, message: `no response from ${place}: ${messageOf(error)}` };
  }
}

/** Rejects if no response comes in time. Accepts any certificate: its names need not fit an address of this machine. */
async function ask(
  { host, port }: HostPort,
  tls: boolean,
  path: string,
  token: string | null,
): Promise<AdminReply> {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const options = { host, port, path, headers, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const request = tls ? requestHttps({ ...options, rejectUnauthorized: false }) : requestHttp(options);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject).end();
  });
  return { status: response.statusCode ?? 0, body: await text(response) };
}
