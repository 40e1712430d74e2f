import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Application, run, startModule } from '../application.ts';

const SERVER = `
import { createServer } from 'node:http';
import { Server } from '@tus/server';
import { FileStore } from '@tus/file-store';
const tus = new Server({ path: '/files', datastore: new FileStore({ directory: 'uploads' }), respectForwardedHeaders: true });
const server = createServer((request, response) => void tus.handle(request, response));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

const CLIENT = `
import { Upload } from 'tus-js-client';
const endpoint = process.argv[2] + '/files';
const bytes = Buffer.alloc(5_000_000, 'a line of text');
for (const options of [
  {},
  { chunkSize: 1_000_000 },
  { chunkSize: 2_000_000, uploadDataDuringCreation: true },
  { abortAt: 2_000_000, chunkSize: 1_000_000 },
]) {
  const { abortAt, ...rest } = options;
  const asked = [];
  const upload = await new Promise((resolve, reject) => {
    const made = new Upload(bytes, {
      endpoint,
      retryDelays: null,
      metadata: { filename: 'ä.txt', filetype: 'text/plain' },
      onAfterResponse: (request, response) => asked.push(request.getMethod() + ' ' + response.getStatus()),
      onError: reject,
      onChunkComplete: (size, done) => { if (abortAt === done) made.abort().then(() => resolve(made)); },
      onSuccess: () => resolve(made),
      ...rest,
    });
    made.start();
  });
  if (abortAt) await new Promise((resolve, reject) => {
    upload.options.onChunkComplete = null;
    upload.options.onError = reject;
    upload.options.onSuccess = resolve;
    upload.start();
  });
  const answer = await fetch(upload.url);
  const same = Buffer.from(await answer.arrayBuffer()).equals(bytes);
  console.log(JSON.stringify(options), upload.url.replace(/[^/]*$/, 'ID'), asked.join(), answer.status, answer.headers.get('content-disposition'), same);
}
const options = await fetch(endpoint, { method: 'OPTIONS' });
console.log(options.status, options.headers.get('tus-extension'), options.headers.get('tus-max-size'));
`;

/** Uploads that resume: PATCH to where a Location led, which the server makes of the forwarding fields. */
export const tus: Application = {
  name: 'tus-node-server 2.4',
  usedBy: 'tus-js-client 4.3: uploads at once, in chunks, with the creation, interrupted and resumed',
  packages: ['@tus/server@2.4.5', '@tus/file-store@2.1.1', 'tus-js-client@4.3.1'],
  nginx: ['an upload of 5 MB is refused: 413', /413/],
  async start(folder) {
    await writeFile(join(folder, 'server.mjs'), SERVER);
    await writeFile(join(folder, 'client.mjs'), CLIENT);
    return startModule(folder, 'server.mjs');
  },
  use: async (url, folder) => (await run(folder, process.execPath, 'client.mjs', url)).replaceAll(url, 'URL'),
};
