import { spawnSync } from 'node:child_process';
import type { ServerCertificate } from '../world/certificate.ts';
import type { Issuer } from '../world/issuer.ts';
import type { Part } from '../world/part.ts';
import type { Job } from './job.ts';

/** What a gateway is given to work with. */
export interface Surroundings {
  readonly upstreamPort: number;
  readonly grpcUpstreamPort: number;
  readonly webSocketUpstreamPort: number;
  readonly issuer: Issuer;
  readonly certificate: ServerCertificate;
  /** An empty directory for its files. */
  readonly directory: string;
  readonly port: number;
}

/** Where the endpoints of a job's upstream listen. */
export function upstreamPortsOf(
  { clients, endpointPorts }: Job,
  surroundings: Surroundings,
): readonly number[] {
  if (endpointPorts !== null) return endpointPorts;
  if (clients === 'grpc') return [surroundings.grpcUpstreamPort];
  return [clients === 'websocket' ? surroundings.webSocketUpstreamPort : surroundings.upstreamPort];
}

/** A gateway that can be measured. */
export interface Peer {
  readonly name: string;
  /** The line that installs it. */
  readonly install: string;
  /** As the program reports it; null: not installed. */
  version(): string | null;
  /** What it leaves out of a job or does differently, as prose; null: nothing. */
  leavesOut(job: Job): string | null;
  /** Starts it with as many serving threads as the job says, if it can have several. */
  start(job: Job, surroundings: Surroundings): Promise<Part>;
}

/** Finds the version in a program's output; null: there is no such program. */
export function versionOf(command: string, parameter: string): string | null {
  const { error, stdout, stderr } = spawnSync(command, [parameter], { encoding: 'utf8' });
  if (error !== undefined) return null;
  return /\d+\.\d+\.\d+/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown';
}

/** A quota that no run reaches, and one that its first request does. */
export const NEVER_REACHED_PER_SECOND = 65_535;
