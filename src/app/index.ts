export type { App, SharedParts } from './app.ts';
export { startApp } from './start-app.ts';
