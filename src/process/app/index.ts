export type { App, AppOptions, PlaneApp, Workers } from './app.ts';
export { openPlane, openStateOf, startApp } from './running-app.ts';
export { REPORT_MS, type ReportExtent, type WorkerReport, WorkerReports } from './worker-reports.ts';
