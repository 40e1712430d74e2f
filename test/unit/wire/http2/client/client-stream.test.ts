import { describe, expect, test } from 'vitest';
import { frame, headers, settings, TYPE, uint32 } from '../../../../support/http2-frames.ts';
import { ScriptedSession } from '../../../../support/scripted-session.ts';

const END = 1;
const data = (bytes: string | Buffer = '', flags = 0) => frame(TYPE.data, flags, 1, bytes);
const head = headers(1, [[':status', '200']], 4);
const trailers = headers(1, [['x-sum', '1']], 5);
const reset = (code: number) => frame(TYPE.rstStream, 0, 1, uint32(code));

/** A session with one request, whose frames have been taken. */
function asking({ endsAtOnce = true, streamWindow = 100_000 } = {}) {
  const scripted = ScriptedSession.begun([], { streamWindow });
  const { handler, stream } = scripted.open(endsAtOnce);
  scripted.frames();
  return { scripted, handler, stream, events: handler.events };
}

describe('a response that its handler does not want yet', () => {
  test('is kept, trailers and end included, until it is', () => {
    const { scripted, handler, stream, events } = asking();
    handler.wantsMore = false;
    scripted.send(head, data('one'));
    scripted.send(data('two'));
    scripted.send(data('three'), trailers);
    expect(events).toEqual([':status,200', 'data one']);
    handler.wantsMore = true;
    stream.resume();
    expect(events.slice(2)).toEqual(['data twothree', 'x-sum,1 end', 'ended']);
  });

  test('may be paused again, and again', () => {
    const { scripted, handler, stream, events } = asking();
    handler.wantsMore = false;
    scripted.send(head, data('one'));
    scripted.send(data('two', END));
    stream.resume();
    expect(events.at(-1)).toBe('data two');
    stream.resume();
    stream.resume();
    expect(events.slice(1)).toEqual(['data one', 'data two', 'ended']);
  });

  test('does not open its window, until it is wanted', () => {
    const { scripted, handler, stream } = asking();
    handler.wantsMore = false;
    scripted.send(head, ...Array.from({ length: 6 }, () => data(Buffer.alloc(16_384))));
    expect(scripted.frames()).toEqual([]);
    handler.wantsMore = true;
    stream.resume();
    expect(scripted.frames()).toEqual([`window 1 ${uint32(6 * 16_384).toString('hex')}`]);
  });

  test('opens its window when all of it was handed on before the pause', () => {
    const { scripted, handler, stream } = asking({ streamWindow: 10 });
    handler.wantsMore = false;
    scripted.send(head, data('1234567890'));
    expect(scripted.frames()).toEqual([]);
    stream.resume();
    expect(scripted.frames()).toEqual(['window 1 0000000a']);
  });

  test('is whole where it has ended, though its connection is lost', () => {
    const { scripted, handler, stream, events } = asking();
    handler.wantsMore = false;
    scripted.send(head, data('one'));
    scripted.send(data('two', END));
    scripted.session.lose();
    stream.resume();
    stream.resume();
    expect(events.at(-1)).toBe('ended');
  });

  test('is whole where it has ended, though the rest of its request is not wanted', () => {
    const { scripted, handler, stream, events } = asking({ endsAtOnce: false });
    handler.wantsMore = false;
    scripted.send(head, data('one', END), reset(0));
    expect(stream.write(Buffer.from('more'))).toBe(false);
    stream.resume();
    expect(events.at(-1)).toBe('ended');
    expect(scripted.frames()).toEqual([]);
  });

  test('is malformed by a head in its middle', () => {
    const { scripted, handler, events } = asking();
    handler.wantsMore = false;
    scripted.send(head, data('one'), head);
    expect(events.at(-1)).toBe('closed: malformed a header section inside a body');
  });

  test('takes little more memory than its bytes, however small the pieces are', () => {
    const { scripted, handler, stream, events } = asking();
    handler.wantsMore = false;
    scripted.send(head, data('1'));
    for (let i = 0; i < 3_000; i++) scripted.send(data('x'));
    stream.resume();
    expect(events.at(-1)).toBe('data 3000');
  });
});

describe('the window of a stream', () => {
  test('is opened again as soon as half of it is used, padding included', () => {
    const { scripted } = asking({ streamWindow: 20 });
    scripted.send(head, data('123456789'));
    expect(scripted.frames()).toEqual([]);
    scripted.send(frame(TYPE.data, 8, 1, Buffer.alloc(1)));
    expect(scripted.frames()).toEqual(['window 1 0000000a']);
  });

  test('is not opened for a response that has ended', () => {
    const { scripted } = asking({ streamWindow: 20, endsAtOnce: false });
    scripted.send(head, data('123456789012', END));
    expect(scripted.frames()).toEqual(['reset 1 00000008']);
  });

  test('is the most that comes', () => {
    const { scripted, handler, events } = asking({ streamWindow: 10 });
    handler.wantsMore = false;
    scripted.send(frame(TYPE.settings, 1, 0), head, data('12345'), data('123456'));
    expect(events.at(-1)).toBe('closed: malformed more than the window of the stream');
    expect(scripted.frames()).toEqual(['reset 1 00000003']);
  });

  test('that overflows resets the stream alone', () => {
    const { scripted, events } = asking();
    scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(0x7fffffff)));
    expect(events).toEqual(['closed: malformed an overflow of a stream window']);
    expect(scripted.frames()).toEqual(['reset 1 00000003']);
  });
});

test.each(['', 'body'])('a body before its head is malformed: "%s"', body => {
  const { scripted, events } = asking();
  scripted.send(data(body));
  expect(events).toEqual(['closed: malformed a body before its head']);
  expect(scripted.frames()).toEqual(['reset 1 00000001']);
});

describe('a stream ends', () => {
  test('when both sides have ended it, without a word', () => {
    const { scripted, stream, events } = asking({ endsAtOnce: false });
    stream.end();
    scripted.send(head, data('', END));
    expect([events.at(-1), scripted.frames(), stream.cancel()]).toEqual(['ended', ['data 1 0 end'], false]);
  });

  test('when its request ends behind a response that its handler does not want yet', () => {
    const { scripted, handler, stream, events } = asking({ endsAtOnce: false });
    handler.wantsMore = false;
    scripted.send(head, data('one', END));
    for (let i = 0; i < 2; i++) stream.end();
    expect([scripted.frames(), scripted.session.openStreams]).toEqual([['data 1 0 end'], 0]);
    stream.resume();
    expect([events.at(-1), scripted.frames()]).toEqual(['ended', []]);
  });

  test('with its response: the rest of its request is not sent', () => {
    const { scripted, stream, events } = asking({ endsAtOnce: false });
    scripted.send(head, data('no', END));
    expect([events.at(-1), scripted.frames()]).toEqual(['ended', ['reset 1 00000008']]);
    expect([stream.write(Buffer.from('more')), stream.end(), scripted.frames()]).toEqual([
      false,
      undefined,
      [],
    ]);
  });

  test('by a reset of the server, with its code', () => {
    const { scripted, events } = asking();
    scripted.send(head, data('one'), reset(2), reset(2));
    expect(events.at(-1)).toBe('closed: reset 2');
  });

  test('when it is given up, and its handler hears nothing more', () => {
    const { scripted, stream, events } = asking();
    expect([stream.cancel(), stream.cancel(1)]).toEqual([true, false]);
    stream.fail('late');
    scripted.session.lose();
    expect([events, scripted.frames()]).toEqual([[], ['reset 1 00000008']]);
  });

  test('behind all that was written to it', () => {
    const { scripted, stream, events } = asking({ endsAtOnce: false });
    scripted.send(settings([4, 4]));
    scripted.frames();
    stream.write(Buffer.from('hello'));
    stream.end();
    expect(scripted.frames()).toEqual(['data 1 4']);
    scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(1)));
    expect([scripted.frames(), events]).toEqual([['data 1 1 end'], []]);
    stream.end();
    expect(scripted.frames()).toEqual([]);
  });
});
