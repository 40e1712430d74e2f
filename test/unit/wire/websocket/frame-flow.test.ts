import { expect, test } from 'vitest';
import { Flow, type FlowOwner } from '../../../../src/wire/websocket/frame-flow.ts';
import { MemoryStream } from '../../../support/memory-stream.ts';
import { CLOSE, closePayload, frame } from '../../../support/raw-web-sockets.ts';

const LAST = frame(closePayload(1001), { opcode: CLOSE });
const HELLO = frame('hello');

/** A started flow from a server, its two ends, and what its owner hears. */
function open() {
  const [from, to] = [new MemoryStream(), new MemoryStream()];
  const heard: string[] = [];
  const owner: FlowOwner = {
    drained: () => void heard.push('drained'),
    closePassed: () => void heard.push('close passed'),
    lastSent: () => void heard.push('last sent'),
    faulty: () => void heard.push('faulty'),
    sourceEnded: () => void heard.push('source ended'),
    sourceGone: () => void heard.push('source gone'),
    failed: fault => void heard.push(String(fault)),
  };
  const flow = new Flow(from, to, { masked: false, extended: false }, owner);
  flow.start();
  return { from, to, flow, heard };
}

test('bytes pass as they come, and are counted', () => {
  const { from, to, flow } = open();
  from.bring(HELLO.subarray(0, 1), HELLO.subarray(1), HELLO);
  expect(to.written).toEqual(Buffer.concat([HELLO, HELLO]));
  expect(flow.passed).toBe(2 * HELLO.length);
});

test('a receiver that does not take them pauses the sender until it has', () => {
  const { from, to, flow } = open();
  to.takes = false;
  from.bring(HELLO);
  expect(from.paused).toBe(true);
  expect(to.written).toEqual(HELLO);
  flow.unblock();
  expect(from.paused).toBe(false);
});

test('the owner hears that the source, as a receiver, has taken everything', () => {
  const { from, heard } = open();
  from.drain();
  expect(heard).toEqual(['drained']);
});

test.each([1, 2, 4, HELLO.length - 1])(
  'a Close of the gateway stands behind the frame that has come to byte %i, and nothing behind it',
  at => {
    const { from, to, flow } = open();
    from.bring(HELLO.subarray(0, at));
    flow.closeWith(LAST);
    expect(to.written).toEqual(HELLO.subarray(0, at));
    expect(to.state).toBe('open');
    from.bring(Buffer.concat([HELLO.subarray(at), HELLO]), HELLO);
    expect(to.written).toEqual(Buffer.concat([HELLO, LAST]));
    expect(to.state).toBe('ended');
    expect(flow.passed).toBe(HELLO.length);
  },
);

test('a Close of the gateway goes out at once between two frames, also those of one message', () => {
  const { from, to, flow } = open();
  const part = frame('part', { final: false });
  from.bring(part);
  flow.closeWith(LAST);
  expect(to.written).toEqual(Buffer.concat([part, LAST]));
  expect(to.state).toBe('ended');
});

test('only the first Close of the gateway is sent, before and after it went out', () => {
  const { from, to, flow } = open();
  from.bring(HELLO.subarray(0, 3));
  flow.closeWith(LAST);
  flow.closeWith(HELLO);
  from.bring(HELLO.subarray(3));
  flow.closeWith(HELLO);
  expect(to.written).toEqual(Buffer.concat([HELLO, LAST]));
});

test('while its receiver takes nothing a flow that stops leaves its sender paused: the bytes still have to stay', () => {
  const { from, to, flow } = open();
  to.takes = false;
  from.bring(HELLO);
  flow.closeWith(LAST);
  expect(from.paused).toBe(true);
  flow.unblock();
  expect(from.paused).toBe(false);
});

test('a flow that stops reads on, so that it hears of the end', () => {
  const { from, to, flow, heard } = open();
  from.paused = true;
  flow.stop();
  expect(from.paused).toBe(false);
  from.bring(HELLO);
  from.vanish();
  expect(to.written).toEqual(Buffer.alloc(0));
  expect(heard).toEqual(['source gone']);
});

test('behind the Close of the source nothing passes, not even one of the gateway', () => {
  const { from, to, flow, heard } = open();
  from.bring(Buffer.concat([LAST, HELLO]), HELLO);
  flow.closeWith(HELLO);
  expect(to.written).toEqual(LAST);
  expect(heard).toEqual(['close passed']);
  expect(flow.sentClose).toBe(true);
  expect(to.state).toBe('open');
});

test('a Close of the source that comes while one of the gateway waits takes its place', () => {
  const { from, to, flow, heard } = open();
  from.bring(LAST.subarray(0, 1));
  flow.closeWith(HELLO);
  from.bring(LAST.subarray(1));
  expect(to.written).toEqual(LAST);
  expect(heard).toEqual(['close passed']);
});

test('what stands before something that is no frame passes, and nothing of it or behind it', () => {
  const { from, to, flow, heard } = open();
  const bad = frame('x', { opcode: 3 });
  from.bring(Buffer.concat([HELLO, bad, HELLO]), HELLO);
  expect(to.written).toEqual(HELLO);
  expect(heard).toEqual(['faulty']);
  expect(flow.fault).toContain('opcode');
});

test.each([
  ['ends', 'source ended', (from: MemoryStream) => from.finish()],
  ['is gone', 'source gone', (from: MemoryStream) => from.vanish()],
])('a source that %s ends its receiver, which gets no Close of the gateway any more', (_, event, act) => {
  const { from, to, flow, heard } = open();
  from.bring(HELLO);
  act(from);
  expect(to.state).toBe('ended');
  to.state = 'open';
  flow.closeWith(LAST);
  expect(to.written).toEqual(HELLO);
  expect(heard).toEqual([event]);
});
