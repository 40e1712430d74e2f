export { collectOldObjectsEarly, collectOnOneThread, collectWhatStartingLeft } from './heap.ts';
export type { HostedPlane, PlaneHost } from './host.ts';
export { inThreadHost } from './in-thread-host.ts';
export { startWithWorkers } from './start.ts';
export { threadHost } from './thread-host.ts';
export { runWorkerThread } from './worker-thread.ts';
