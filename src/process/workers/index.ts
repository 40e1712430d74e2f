export { collectInMainThread, collectOnOneThread, collectWhatStartingLeft } from './heap.ts';
export * from './hosts.ts';
export { startWithWorkers } from './start.ts';
