export { loadInThread, runLoadingThread } from './loading-thread.ts';
