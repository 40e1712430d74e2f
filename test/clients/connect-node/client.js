// Calls an echo of gRPC at a URL by connect for Node.js, and prints "ok NAME" behind each case that passed.
// node client.js URL [FILE OF A CERTIFICATE TO TRUST]
import { deepStrictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import { create, createFileRegistry } from '@bufbuild/protobuf';
import { FieldDescriptorProto_Type, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';

const same = { inputType: '.test.v1.Text', outputType: '.test.v1.Text' };
const file = create(FileDescriptorProtoSchema, {
  name: 'echo.proto',
  package: 'test.v1',
  syntax: 'proto3',
  messageType: [
    { name: 'Text', field: [{ name: 'text', number: 1, type: FieldDescriptorProto_Type.STRING, label: 1 }] },
  ],
  service: [
    {
      name: 'Echo',
      method: [
        { name: 'Unary', ...same },
        { name: 'Download', ...same, serverStreaming: true },
        { name: 'Upload', ...same, clientStreaming: true },
        { name: 'Talk', ...same, clientStreaming: true, serverStreaming: true },
      ],
    },
  ],
});
const Echo = createFileRegistry(file, () => undefined).getService('test.v1.Echo');

const [baseUrl, authority] = process.argv.slice(2);
const nodeOptions = authority === undefined ? {} : { ca: readFileSync(authority) };
const calls = createClient(Echo, createGrpcTransport({ baseUrl, nodeOptions }));
const web = createClient(Echo, createGrpcWebTransport({ baseUrl, httpVersion: '2', nodeOptions }));

const texts = Array.from({ length: 100 }, (_, i) => String(i).repeat(1 + 30 * i));

async function* each() {
  for (const text of texts) yield { text };
}

async function all(stream) {
  const received = [];
  for await (const { text } of stream) received.push(text);
  return received;
}

async function codeOf(call) {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error).code;
  }
  return 0;
}

const cases = {
  unary: async () => deepStrictEqual((await calls.unary({ text: 'grüße' })).text, 'grüße'),
  'unary, side by side': async () => {
    const answers = await Promise.all(texts.map(text => calls.unary({ text })));
    deepStrictEqual(
      answers.map(({ text }) => text),
      texts,
    );
  },
  upload: async () => deepStrictEqual((await calls.upload(each())).text, texts.at(-1)),
  download: async () => deepStrictEqual((await all(calls.download({ text: 'a' }))).length, 100),
  talk: async () => deepStrictEqual(await all(calls.talk(each())), texts),
  status: async () => deepStrictEqual(await codeOf(calls.unary({ text: 'fail' })), Code.FailedPrecondition),
  deadline: async () =>
    deepStrictEqual(await codeOf(calls.unary({ text: 'wait' }, { timeoutMs: 300 })), Code.DeadlineExceeded),
  cancel: async () => {
    const stop = new AbortController();
    const waits = codeOf(calls.unary({ text: 'wait' }, { signal: stop.signal }));
    stop.abort();
    deepStrictEqual(await waits, Code.Canceled);
  },
  'unary by gRPC-Web': async () => deepStrictEqual((await web.unary({ text: 'grüße' })).text, 'grüße'),
  'download by gRPC-Web': async () => deepStrictEqual((await all(web.download({ text: 'a' }))).length, 100),
};

for (const [name, run] of Object.entries(cases)) {
  await run();
  process.stdout.write(`ok ${name}\n`);
}
// Its sessions stay open otherwise.
process.exit();
