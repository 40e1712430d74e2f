// The clients of gRPC-Web that people use, behind one function, for Node.js and for a page of a browser.
import { create, createFileRegistry } from '@bufbuild/protobuf';
import { FieldDescriptorProto_Type, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-web';
import { GrpcWebClientBase, MethodDescriptor } from 'grpc-web';

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
        { name: 'Unary', inputType: '.test.v1.Text', outputType: '.test.v1.Text' },
        { name: 'Download', inputType: '.test.v1.Text', outputType: '.test.v1.Text', serverStreaming: true },
      ],
    },
  ],
});
const Echo = createFileRegistry(file, () => undefined).getService('test.v1.Echo');

/**
 * Makes a call and resolves with how it ended.
 *
 * @param options `client`: connect, or grpc-web in the form `binary` or `text`; `stopAfter`: cancel after so many messages
 * @returns `{ messages, code, message, metadata }`, with all metadata in one
 */
export function call(options, fetch = globalThis.fetch) {
  return options.client === 'connect' ? callByConnect(options, fetch) : callByGrpcWeb(options);
}

async function callByConnect({ base, method, text, metadata = {}, timeoutMs, stopAfter }, fetch) {
  const client = createClient(Echo, createGrpcWebTransport({ baseUrl: base, fetch }));
  const ended = { messages: [], code: 0, message: '', metadata: {} };
  const note = headers => Object.assign(ended.metadata, Object.fromEntries(headers));
  const stop = new AbortController();
  const options = { headers: metadata, timeoutMs, onHeader: note, onTrailer: note, signal: stop.signal };
  try {
    if (method === 'Unary') ended.messages.push((await client.unary({ text }, options)).text);
    else
      for await (const answer of client.download({ text }, options)) {
        ended.messages.push(answer.text);
        if (ended.messages.length === stopAfter) stop.abort();
      }
  } catch (error) {
    note(error.metadata ?? []);
    Object.assign(ended, { code: error.code ?? -1, message: error.rawMessage ?? String(error) });
  }
  return ended;
}

function callByGrpcWeb({ client, base, method, text, metadata = {}, timeoutMs, stopAfter }) {
  const type = method === 'Unary' ? 'unary' : 'server_streaming';
  const path = `/test.v1.Echo/${method}`;
  const descriptor = new MethodDescriptor(path, type, String, String, encode, decode);
  const deadline = timeoutMs === undefined ? {} : { deadline: String(Date.now() + timeoutMs) };
  const base64OrNot = new GrpcWebClientBase({ format: client });
  return new Promise(resolve => {
    const ended = { messages: [], code: 0, message: '', metadata: {} };
    // An error comes before the fields of the head.
    let [isOver, hasHead] = [false, false];
    const note = (over, head) => {
      isOver ||= over;
      hasHead ||= head;
      if (isOver && hasHead) resolve(ended);
    };
    const fail = error => {
      Object.assign(ended, { code: error.code, message: error.message });
      Object.assign(ended.metadata, error.metadata);
      note(true, false);
    };
    const take = answer => {
      ended.messages.push(answer);
      if (ended.messages.length !== stopAfter) return;
      stream.cancel();
      resolve(ended);
    };
    const all = { ...metadata, ...deadline };
    const done = (error, answer) => {
      if (error !== null) return fail(error);
      take(answer);
    };
    const stream =
      type === 'unary'
        ? base64OrNot.rpcCall(base + path, text, all, descriptor, done)
        : base64OrNot.serverStreaming(base + path, text, all, descriptor);
    stream.on('metadata', head => {
      Object.assign(ended.metadata, head);
      note(false, true);
    });
    stream.on('status', status => Object.assign(ended.metadata, status.metadata));
    stream.on('end', () => note(true, false));
    if (type !== 'unary') stream.on('data', take).on('error', fail);
  });
}

/** A message with one string shorter than 16384 bytes. */
function encode(text) {
  const bytes = new TextEncoder().encode(text);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
  return Uint8Array.from([10, ...length, ...bytes]);
}

function decode(message) {
  const bytes = Uint8Array.from(message);
  return new TextDecoder().decode(bytes.subarray(bytes[1] < 128 ? 2 : 3));
}
