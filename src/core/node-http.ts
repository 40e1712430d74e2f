/**
 * `node:http`, for everything except types. An import reads every export of a module, and one export of `node:http` is a getter
 * that runs Node's client for `fetch`: 50 ms of processor time and 3 MB in each thread
 * (https://github.com/nodejs/node/blob/v26.0.0/lib/http.js).
 */
export const nodeHttp = process.getBuiltinModule('node:http');

export const { METHODS, STATUS_CODES } = nodeHttp;
