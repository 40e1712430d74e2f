import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerSpec, ProbeSpec } from './manifests.ts';

/** Asks once; true for a success. */
type Ask = (signal: AbortSignal) => Promise<boolean>;

/**
 * Repeats a probe at its period and calls `onChange` when as many results in a row as its thresholds ask for say another thing
 * than before. It begins with `initially`, as in kubelet: undecided for startup, not ready, but alive.
 */
export async function probe(
  spec: ProbeSpec,
  ask: Ask,
  initially: boolean | 'undecided',
  onChange: (good: boolean) => void,
  stop: AbortSignal,
): Promise<void> {
  let state = initially;
  let last = initially;
  let inRow = 0;
  await pause(spec.initialDelaySeconds ?? 0, stop);
  while (!stop.aborted) {
    const good = await ask(AbortSignal.any([stop, AbortSignal.timeout((spec.timeoutSeconds ?? 1) * 1_000)]));
    if (stop.aborted) return;
    inRow = good === last ? inRow + 1 : 1;
    last = good;
    const threshold = good ? (spec.successThreshold ?? 1) : (spec.failureThreshold ?? 3);
    if (good !== state && inRow >= threshold) {
      state = good;
      onChange(good);
    }
    await pause(spec.periodSeconds ?? 10, stop);
  }
}

export function askerOf(spec: ProbeSpec, container: ContainerSpec, address: string): Ask {
  if (spec.httpGet !== undefined) {
    const { path = '/', port, scheme = 'HTTP' } = spec.httpGet;
    return signal => getIsGood(scheme, address, portOf(port, container), path, signal);
  }
  if (spec.tcpSocket !== undefined) {
    const port = portOf(spec.tcpSocket.port, container);
    return signal => accepts(address, port, signal);
  }
  throw new Error(`the pod runner cannot probe this: ${JSON.stringify(spec)}`);
}

function portOf(port: number | string, { ports, name }: ContainerSpec): number {
  if (typeof port === 'number') return port;
  const found = ports?.find(candidate => candidate.name === port);
  if (found === undefined) throw new Error(`container ${name} has no port ${port}`);
  return found.containerPort;
}

/** From 200 to 399, as kubelet sees it. Certificates are not verified. */
function getIsGood(
  scheme: string,
  host: string,
  port: number,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  const request = scheme === 'HTTPS' ? requestHttps : requestHttp;
  const headers = { 'User-Agent': 'kube-probe/1.36', Connection: 'close' };
  const options = { host, port, path, headers, agent: false, signal, rejectUnauthorized: false };
  return new Promise(resolve => {
    request(options, response => {
      const { statusCode = 0 } = response;
      response.on('error', () => {}).resume();
      resolve(statusCode >= 200 && statusCode < 400);
    })
      .on('error', () => resolve(false))
      .end();
  });
}

function accepts(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port, signal })
      .on('connect', () => {
        socket.destroy();
        resolve(true);
      })
      .on('error', () => resolve(false));
  });
}

function pause(seconds: number, signal: AbortSignal): Promise<unknown> {
  return sleep(seconds * 1_000, undefined, { signal }).catch(() => {});
}
