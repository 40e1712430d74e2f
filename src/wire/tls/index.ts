export * from './tls-server.ts';
