export { HttpListener, type HttpListenerOptions } from './http-listener.ts';
