export * from './errors.ts';
export {
  addOwnFields,
  addSetFields,
  policyFields,
  policyReportOf,
  type RateReport,
  rateReport,
} from './own-fields.ts';
export * from './rate-limit-error.ts';
export {
  badDeadline,
  callReset,
  deadlineExceeded,
  grpcStatusFields,
  grpcStatusIn,
  httpStatusOf,
  nameResource,
  notGrpc,
  type RenderedResponse,
  renderError,
  renderGrpcError,
  reportsRate,
} from './render-error.ts';
export * from './upstream-429.ts';
