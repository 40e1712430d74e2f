export type { App } from './app.ts';
export { startApp } from './start-app.ts';
