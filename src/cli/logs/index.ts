export { countOf, formatCount, logNotes, percent, sentences, table } from './columns.ts';
export { readLogs, STORES, type Store, withoutDecisions } from './files.ts';
