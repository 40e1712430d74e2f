import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Application, run, startModule } from '../application.ts';

const PROTO = `
syntax = "proto3";
package test;
service Echo {
  rpc Unary(Text) returns (Text);
  rpc Upload(stream Text) returns (Text);
  rpc Download(Text) returns (stream Text);
  rpc Talk(stream Text) returns (stream Text);
}
message Text { string text = 1; bytes bytes = 2; }
`;

const SERVER = `
const grpc = require('@grpc/grpc-js');
const { ReflectionService } = require('@grpc/reflection');
const definition = require('@grpc/proto-loader').loadSync('echo.proto');
const server = new grpc.Server();
const trailer = call => {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(call.metadata.getMap())) if (/^x-(text|bytes)/.test(name)) metadata.set('t-' + name, value);
  return metadata;
};
server.addService(definition['test.Echo'], {
  Unary(call, done) {
    const head = new grpc.Metadata();
    head.set('h-host', String(call.getHost() !== ''));
    call.sendMetadata(head);
    const { text } = call.request;
    if (text === 'wait') return void call.on('cancelled', () => {});
    if (text === 'fail') return done({ code: 9, details: 'nö, 100%', metadata: trailer(call) });
    done(null, call.request, trailer(call));
  },
  Upload(call, done) {
    let count = 0, bytes = 0;
    call.on('data', each => { count++; bytes += each.bytes.length; });
    call.on('end', () => done(null, { text: count + ' ' + bytes }, trailer(call)));
  },
  Download(call) {
    for (let i = 0; i < Number(call.request.text); i++) call.write({ text: String(i), bytes: call.request.bytes });
    if (call.request.text === '7') call.emit('error', { code: 8, details: 'after seven' });
    else call.end(trailer(call));
  },
  Talk(call) {
    call.on('data', each => call.write(each));
    call.on('end', () => call.end(trailer(call)));
    call.on('error', () => {});
  },
});
new ReflectionService(definition).addToServer(server);
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => console.log(port));
`;

const CLIENT = `
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const { Echo } = grpc.loadPackageDefinition(loader.loadSync('echo.proto')).test;
const address = process.argv[2].replace('http://', '');
const see = (...values) => console.log(...values.map(value => JSON.stringify(value)));
const own = metadata => Object.entries(metadata.getMap()).filter(([name]) => /^[ht]-/.test(name)).map(([name, value]) => [name, String(value)]);
/** Ends with what came: the first metadata, the messages, the status and the last metadata. */
const watch = (call, isSilent) => new Promise(resolve => {
  const seen = { head: [], messages: 0, last: '' };
  call.on('metadata', metadata => { seen.head = own(metadata); });
  if (!isSilent) call.on('data', each => { seen.messages++; seen.last = each.text; });
  call.on('error', () => {});
  call.on('status', ({ code, details, metadata }) => resolve({ ...seen, code, details: code === 4 ? 'late' : details, trailers: own(metadata) }));
});
const metadata = new grpc.Metadata();
metadata.set('x-text', 'a, b');
metadata.set('x-bytes-bin', Buffer.from([0, 255, 10]));
metadata.add('x-text', 'c');
const unary = (client, text, options = {}, bytes = Buffer.alloc(0)) => {
  let call;
  const answer = new Promise(resolve => { call = client.Unary({ text, bytes }, metadata, options, (error, value) => resolve(value?.text.length ?? error.code)); });
  return Promise.all([answer, watch(call, true)]);
};
(async () => {
  for (const options of [{}, { 'grpc.default_compression_algorithm': 2 }]) {
    const client = new Echo(address, grpc.credentials.createInsecure(), options);
    see(await unary(client, 'ä'));
    see(await unary(client, 'fail'));
    see(await unary(client, 'x'.repeat(900_000)));
    see(await unary(client, 'wait', { deadline: Date.now() + 300 }));
    see((await Promise.all(Array.from({ length: 80 }, (_, i) => unary(client, 'many'.repeat(i))))).map(([length]) => length));
    let call;
    const sum = new Promise(resolve => { call = client.Upload(metadata, (error, value) => resolve(value?.text ?? error.code)); });
    const uploaded = watch(call, true);
    for (let i = 0; i < 40; i++) call.write({ text: '', bytes: Buffer.alloc(100_000, i) });
    call.end();
    see(await sum, await uploaded);
    see(await watch(client.Download({ text: '500', bytes: Buffer.alloc(10_000) }, metadata)));
    see(await watch(client.Download({ text: '7' }, metadata)));
    see(await watch(client.Download({ text: '0' }, metadata)));
    const talk = client.Talk(metadata);
    const talked = watch(talk);
    for (let i = 0; i < 50; i++) {
      const answer = new Promise(resolve => talk.once('data', resolve));
      talk.write({ text: String(i) });
      await answer;
    }
    talk.end();
    see(await talked);
    const cancelled = client.Talk(metadata);
    const end = watch(cancelled);
    cancelled.write({ text: 'one' });
    await new Promise(resolve => cancelled.once('data', resolve));
    cancelled.cancel();
    see((await end).code);
    const missing = new Promise(resolve => client.makeUnaryRequest('/test.Echo/None', () => Buffer.alloc(0), () => '', {}, error => resolve(error.code)));
    see(await missing);
    client.close();
  }
  const path = require.resolve('@grpc/reflection').replace(/src.*/, 'proto/grpc/reflection/v1/reflection.proto');
  const { ServerReflection } = grpc.loadPackageDefinition(loader.loadSync(path)).grpc.reflection.v1;
  const client = new ServerReflection(address, grpc.credentials.createInsecure());
  const call = client.ServerReflectionInfo();
  for (const question of [{ listServices: '' }, { fileContainingSymbol: 'test.Echo' }]) {
    const answer = new Promise((resolve, reject) => call.once('data', resolve).once('error', reject));
    call.write(question);
    see(JSON.stringify(await answer).length);
  }
  call.end();
  client.close();
})();
`;

export const grpcJs: Application = {
  name: 'grpc-js 1.14',
  usedBy:
    'its client: the four kinds of calls, also compressed, metadata and trailers, errors, deadlines, cancelling, reflection',
  packages: ['@grpc/grpc-js@1.14.7', '@grpc/proto-loader@0.8.1', '@grpc/reflection@1.0.4'],
  nginx: ['a stream of 4 MB from the client is refused: 413', /413/],
  grpc: ['test.Echo', 'grpc.reflection.v1.ServerReflection'],
  async start(folder) {
    await writeFile(join(folder, 'echo.proto'), PROTO);
    await writeFile(join(folder, 'server.cjs'), SERVER);
    await writeFile(join(folder, 'client.cjs'), CLIENT);
    return startModule(folder, 'server.cjs');
  },
  use: (url, folder) => run(folder, process.execPath, 'client.cjs', url),
};
