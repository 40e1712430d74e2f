export { count, share, table } from './columns.ts';
export { failed, sizeOf } from './files.ts';
export { logNotes, sentences } from './notes.ts';
export { Progress } from './progress.ts';
