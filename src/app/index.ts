export type { App, SharedParts } from './app.ts';
export { startApp } from './running-app.ts';
