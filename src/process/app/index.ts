export type { App, PlaneApp, StartOptions, Workers } from './app.ts';
export { openPlane, openStateOf, startAlone, startApp } from './running-app.ts';
export { REPORT_MS, type ReportExtent, type WorkerReport, WorkerReports } from './worker-reports.ts';
