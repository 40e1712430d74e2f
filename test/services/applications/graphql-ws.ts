import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Application, run, startModule } from '../application.ts';

const SERVER = `
import { createServer } from 'node:http';
import { createYoga, createSchema } from 'graphql-yoga';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
const schema = createSchema({
  typeDefs: 'type Query { hello(name: String): String } type Subscription { count(to: Int!): Int, ticks: Int }',
  resolvers: {
    Query: { hello: (_, { name }) => 'hello ' + name },
    Subscription: {
      count: { async *subscribe(_, { to }) { for (let i = 0; i < to; i++) yield { count: i }; } },
      ticks: { async *subscribe() { for (let i = 0; ; i++) { yield { ticks: i }; await new Promise(resolve => setTimeout(resolve, 20)); } } },
    },
  },
});
const yoga = createYoga({ schema, logging: false });
const server = createServer(yoga);
useServer({ schema }, new WebSocketServer({ server, path: '/graphql' }));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

const CLIENT = `
import { createClient } from 'graphql-ws';
import { createClient as createSse } from 'graphql-sse';
import WebSocket from 'ws';
const url = process.argv[2] + '/graphql';
const web = createClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket, connectionParams: { token: 'a' } });
const events = createSse({ url, retryAttempts: 0 });
for (const [name, client] of [['WebSocket', web], ['events', events]]) {
  const all = async query => { const got = []; try { for await (const { data, errors } of client.iterate({ query })) got.push(data ?? errors); } catch (error) { got.push(error); } return JSON.stringify(got); };
  console.log(name, await all('{ hello(name: "ä") }'), await all('subscription { count(to: 500) }'), await all('{ none }'));
  console.log((await Promise.all(Array.from({ length: 20 }, (_, i) => all('subscription { count(to: ' + i + ') }')))).join());
  // What never ends is left by the client.
  for await (const { data } of client.iterate({ query: 'subscription { ticks }' })) if (data.ticks === 5) break;
}
await web.dispose();
const plain = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query: '{ hello(name: "x") }' }) });
console.log(plain.status, plain.headers.get('content-type'), await plain.text());
const page = await fetch(url, { headers: { accept: 'text/html' } });
console.log(page.status, (await page.text()).length);
`;

export const graphqlWs: Application = {
  name: 'GraphQL Yoga 5 with graphql-ws 6.4',
  usedBy:
    'graphql-ws and graphql-sse: queries and subscriptions over a WebSocket and over events, also those that a client leaves',
  packages: ['graphql-yoga@5.24.1', 'graphql@16.15.0', 'graphql-ws@6.4.2', 'graphql-sse@2.6.1', 'ws@8.23.0'],
  route: { websocket: true },
  async start(folder) {
    await writeFile(join(folder, 'server.mjs'), SERVER);
    await writeFile(join(folder, 'client.mjs'), CLIENT);
    return startModule(folder, 'server.mjs');
  },
  use: (url, folder) => run(folder, process.execPath, 'client.mjs', url),
};
