import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { BodyLength } from '../../../../src/core/index.ts';
import { BodyWriter } from '../../../../src/upstream/http2/body-writer.ts';

const BUFFER_BYTES = 8;

/** A writer into a stream that holds 8 bytes, and what it told its owner and asked of its source. */
function writing(length: BodyLength) {
  const stream = new PassThrough({ highWaterMark: BUFFER_BYTES });
  const said: string[] = [];
  const source = { start: () => said.push('start'), resume: () => said.push('resume') };
  const owner = { requestSent: () => said.push('sent'), requestBroken: () => said.push('broken') };
  const writer = new BodyWriter(stream as never, source as never, length, owner);
  writer.start();
  return { stream, said, writer };
}

test('a body of its announced length is sent whole', () => {
  const { stream, said, writer } = writing(5);
  expect([writer.chunk(Buffer.from('he')), writer.chunk(Buffer.from('llo'))]).toEqual([true, true]);
  writer.end();
  expect(said).toEqual(['start', 'sent']);
  expect([stream.read().toString(), stream.writableEnded]).toEqual(['hello', true]);
});

test.each<[string, BodyLength, string]>([
  ['longer', 4, 'hello'],
  ['shorter', 6, 'hello'],
])('a body that is %s than announced breaks the request, and does not look whole', (_, length, text) => {
  const { stream, said, writer } = writing(length);
  writer.chunk(Buffer.from(text));
  writer.end();
  writer.fail();
  expect(said).toEqual(['start', 'broken']);
  expect([stream.readableLength > Number(length), stream.writableEnded]).toEqual([false, false]);
});

test('a full stream pauses the source until it has drained', async () => {
  const { stream, said, writer } = writing('chunked');
  // The readable half takes as many bytes before the writable half fills.
  for (let i = 0; i < 3; i++) writer.chunk(Buffer.alloc(BUFFER_BYTES));
  expect(writer.chunk(Buffer.alloc(BUFFER_BYTES))).toBe(false);
  expect(said).toEqual(['start']);
  stream.resume();
  await expect.poll(() => said).toEqual(['start', 'resume']);
  expect(writer.bytesTaken).toBe(4 * BUFFER_BYTES);
  writer.end();
  expect(said).toEqual(['start', 'resume', 'sent']);
});

test('a stopped writer takes nothing, and says nothing of the end', () => {
  const { stream, said, writer } = writing('chunked');
  writer.stop();
  expect(writer.chunk(Buffer.from('late'))).toBe(false);
  writer.end();
  writer.fail();
  expect(said).toEqual(['start']);
  expect([stream.read(), stream.writableEnded]).toEqual([null, false]);
});
