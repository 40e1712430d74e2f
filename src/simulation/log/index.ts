export type { LoggedRequest } from './logged-request.ts';
export { type LogEvent, mergeLogs } from './merge-logs.ts';
export { newReadCounts, type ReadCounts } from './read-counts.ts';
export type { Offence } from './restriction-facts.ts';
