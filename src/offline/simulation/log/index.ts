export { newReadCounts, type ReadCounts, ReplayError } from './log-file.ts';
export { type LoggedRequest, type Offence, Returns } from './logged-request.ts';
export { type LogEvent, mergeLogs } from './merge-logs.ts';
