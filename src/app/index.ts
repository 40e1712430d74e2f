export type { App } from './app.ts';
export { startApp } from './running-app.ts';
