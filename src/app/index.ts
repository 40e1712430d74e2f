export type { App, AppOptions, PlaneApp, SharedParts, Workers } from './app.ts';
export { openPlane, startApp } from './running-app.ts';
