import { formatHostPort } from './host-port.ts';
import type { HostPort, Snapshot } from './model.ts';

/** A key of gateway.yaml that was changed and waits for a restart. */
export interface RestartKey {
  readonly key: string;
  /** What is in effect, and what the file says, as the operator would write it. */
  readonly running: string;
  readonly wanted: string;
}

/** What a running gateway cannot change, by key, and how it is written. A secret must not be shown here. */
const FIXED: Readonly<Record<string, (snapshot: Snapshot) => string>> = {
  'listen.http': ({ listen }) => formatHostPort(listen.http),
  'listen.admin': ({ listen }) => addressOrOff(listen.admin),
};

/** @param started what the process was started with */
export function restartKeys(started: Snapshot, latest: Snapshot): readonly RestartKey[] {
  return Object.entries(FIXED)
    .map(([key, written]) => ({ key, running: written(started), wanted: written(latest) }))
    .filter(({ running, wanted }) => running !== wanted);
}

function addressOrOff(address: HostPort | null): string {
  return address === null ? 'off' : formatHostPort(address);
}
