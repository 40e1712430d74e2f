import { expect, test } from 'vitest';
import type { BodyLength } from '../../../src/core/index.ts';
import { StreamBodyWriter } from '../../../src/upstream/stream-call.ts';
import { frame, TYPE, uint32 } from '../../support/http2-frames.ts';
import { ScriptedSession } from '../../support/scripted-session.ts';

const WINDOW_BYTES = 8;

/** A writer into a stream whose server takes 8 bytes for now, and what it told its owner and asked of its source. */
function writing(length: BodyLength) {
  const scripted = ScriptedSession.begun([[4, WINDOW_BYTES]]);
  const { stream, handler } = scripted.open(false);
  scripted.frames();
  const said: string[] = [];
  const source = { start: () => said.push('start'), resume: () => said.push('resume') };
  const owner = { requestSent: () => said.push('sent'), requestBroken: () => said.push('broken') };
  const writer = new StreamBodyWriter(stream, source as never, length, owner);
  handler.drained = () => writer.drained();
  writer.start();
  return { said, writer, scripted };
}

test('a body of its announced length is sent whole', () => {
  const { said, writer, scripted } = writing(5);
  expect([writer.chunk(Buffer.from('he')), writer.chunk(Buffer.from('llo'))]).toEqual([true, true]);
  writer.end();
  expect(said).toEqual(['start', 'sent']);
  expect(scripted.frames()).toEqual(['data 1 5 end']);
});

test.each<[string, BodyLength, string]>([
  ['longer', 4, 'hello'],
  ['shorter', 6, 'hello'],
])('a body that is %s than announced breaks the request, and does not look whole', (_, length, text) => {
  const { said, writer, scripted } = writing(length);
  writer.chunk(Buffer.from(text));
  writer.end();
  writer.fail();
  expect(said).toEqual(['start', 'broken']);
  expect(scripted.frames()).toEqual(Number(length) < text.length ? [] : ['data 1 5']);
});

test('a full window pauses the source until all has left', () => {
  const { said, writer, scripted } = writing('chunked');
  expect(writer.chunk(Buffer.alloc(WINDOW_BYTES))).toBe(true);
  expect(writer.chunk(Buffer.alloc(WINDOW_BYTES))).toBe(false);
  expect([said, writer.bytesTaken]).toEqual([['start'], WINDOW_BYTES]);
  scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(WINDOW_BYTES - 1)));
  expect([said, writer.bytesTaken]).toEqual([['start'], 2 * WINDOW_BYTES - 1]);
  scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(1)));
  expect([said, writer.bytesTaken]).toEqual([['start', 'resume'], 2 * WINDOW_BYTES]);
  writer.end();
  expect(said).toEqual(['start', 'resume', 'sent']);
});

test('a stopped writer takes nothing, and says nothing of the end', () => {
  const { said, writer, scripted } = writing('chunked');
  writer.stop();
  expect(writer.chunk(Buffer.from('late'))).toBe(false);
  writer.end();
  writer.fail();
  expect([said, scripted.frames()]).toEqual([['start'], []]);
});
