import { expect, it } from 'vitest';
import { diagnosticsIn } from '../../../support/config-text.ts';

it.each([
  ['/', 'this path has no other form: leave it out'],
  ['/a/**', '"**" takes paths with and without a slash: leave it out'],
])('trailing_slash: redirect is a mistake for %s', async (path, message) => {
  const route = `{ path: ${path}, upstream: api, authentication: none, trailing_slash: redirect }`;
  expect(await diagnosticsIn(`upstreams: { api: { url: "http://api" } }\nroutes: [${route}]\n`)).toEqual([
    expect.stringContaining(`routes[0].trailing_slash: ${message}`),
  ]);
});
