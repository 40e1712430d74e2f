// Fastify's own proxy and rate limit, as their documentation shows them. The plugin counts one limit a request, here by
// token; a second one is skipped by it.
import proxy from '@fastify/http-proxy';
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';

const max = Number(process.env['MAX_PER_MINUTE']);
const app = fastify({ logger: false, bodyLimit: Number.MAX_SAFE_INTEGER });
if (max > 0)
  await app.register(rateLimit, {
    max,
    timeWindow: '1 minute',
    hook: 'onRequest',
    keyGenerator: request => request.headers.authorization ?? request.ip,
  });
await app.register(proxy, { upstream: `http://127.0.0.1:${process.env['UPSTREAM_PORT']}` });
await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
