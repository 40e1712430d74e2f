import { describe, expect, it } from 'vitest';
import type { BodySink, BodySource } from '../../../../src/core/index.ts';
import { BufferedBody } from '../../../../src/gateway/terminals/buffered-body.ts';

class Source implements BodySource {
  started = false;
  sink: BodySink | null = null;
  flow: string[] = [];
  start(sink: BodySink): void {
    this.started = true;
    this.sink = sink;
  }
  pause(): void {
    this.flow.push('pause');
  }
  resume(): void {
    this.flow.push('resume');
  }
}

class Sink implements BodySink {
  text = '';
  takes = true;
  over: 'end' | 'fail' | null = null;
  chunk(bytes: Buffer): boolean {
    this.text += bytes.toString('latin1');
    return this.takes;
  }
  end(): void {
    this.over = 'end';
  }
  fail(): void {
    this.over = 'fail';
  }
}

function buffer(maxBytes: number, room = Number.POSITIVE_INFINITY) {
  const source = new Source();
  const kept: number[] = [];
  let ready = 0;
  const body = new BufferedBody(source, maxBytes, {
    keeps(bytes) {
      kept.push(bytes);
      return bytes <= room;
    },
    ready: () => void ready++,
  });
  body.read();
  const send = (text: string) => source.sink?.chunk(Buffer.from(text));
  return { source, body, kept, send, end: () => source.sink?.end(), readies: () => ready };
}

describe('a body that is read whole', () => {
  it('is ready at its end, and comes in one piece', () => {
    const { body, send, end, readies, kept } = buffer(100);
    expect([send('a'), send('b'), send('c')]).toEqual([true, true, true]);
    expect(readies()).toBe(0);
    expect(Math.min(...kept)).toBeGreaterThan(0);
    expect(body.started).toBe(false);
    end();
    expect(readies()).toBe(1);
    const sink = new Sink();
    body.start(sink);
    expect(sink).toMatchObject({ text: 'abc', over: 'end' });
    expect(kept.at(-1)).toBe(0);
  });

  it('counts, and has no end, until its sink has taken it', () => {
    const { source, body, send, end, kept } = buffer(100);
    send('abc');
    end();
    const sink = new Sink();
    sink.takes = false;
    body.start(sink);
    expect(sink).toMatchObject({ text: 'abc', over: null });
    expect(kept.at(-1)).toBe(100);
    body.resume();
    expect(sink).toMatchObject({ text: 'abc', over: 'end' });
    expect(kept.at(-1)).toBe(0);
    // It came whole, so there is nothing to read.
    expect(source.flow).toEqual([]);
  });

  it('counts until its sink takes more, where it is streamed from there on', () => {
    const { body, send, end, kept } = buffer(3);
    send('a');
    send('bcd');
    const sink = new Sink();
    sink.takes = false;
    body.start(sink);
    const counted = kept.at(-1);
    expect(counted).toBeGreaterThan(0);
    body.pause();
    expect(kept.at(-1)).toBe(counted);
    sink.takes = true;
    body.resume();
    expect(kept.at(-1)).toBe(0);
    send('ef');
    end();
    expect(sink).toMatchObject({ text: 'abcdef', over: 'end' });
  });

  it('never counts more than there was room for, since others would have to go for it', () => {
    const { body, kept, send } = buffer(1_000_000, 2_000);
    expect(send('a'.repeat(500))).toBe(true);
    expect(send('b'.repeat(600))).toBe(false);
    expect(kept.at(-1)).toBe(1_024);
    const sink = new Sink();
    sink.takes = false;
    body.start(sink);
    expect(sink.text).toBe('a'.repeat(500) + 'b'.repeat(600));
    expect(kept.at(-1)).toBe(1_024);
    body.resume();
    expect(kept.at(-1)).toBe(0);
  });

  it.each([
    ['longer than that', 3, Number.POSITIVE_INFINITY],
    ['without room', 1_000_000, 3],
  ])('is streamed where it is %s', (_, maxBytes, room) => {
    const { source, body, send, end, readies } = buffer(maxBytes, room);
    // Room is counted by what memory takes, which may be more than the bytes.
    let sent = '';
    for (let i = 0; i < 10 && readies() === 0; i++) {
      sent += 'ab';
      if (send('ab') === false) break;
    }
    expect(readies()).toBe(1);
    const sink = new Sink();
    body.start(sink);
    expect(sink).toMatchObject({ text: sent, over: null });
    expect(source.flow).toEqual(['resume']);
    sink.takes = false;
    expect(send('x')).toBe(false);
    body.pause();
    body.resume();
    expect(source.flow).toEqual(['resume', 'pause', 'resume']);
    end();
    expect(sink).toMatchObject({ text: `${sent}x`, over: 'end' });
    expect(readies()).toBe(1);
  });

  it('waits with the rest until its sink is there, and as long as that takes no more', () => {
    const { source, body, send } = buffer(1);
    expect(send('ab')).toBe(false);
    expect(send('cd')).toBe(false);
    const sink = new Sink();
    sink.takes = false;
    body.start(sink);
    expect(sink.text).toBe('abcd');
    expect(source.flow).toEqual(['pause']);
  });

  it('goes on at once where its sink begins as soon as it is ready', () => {
    const source = new Source();
    const sink = new Sink();
    const body: BufferedBody = new BufferedBody(source, 1, {
      keeps: () => true,
      ready: () => body.start(sink),
    });
    body.read();
    expect(source.sink?.chunk(Buffer.from('ab'))).toBe(true);
    expect(source.sink?.chunk(Buffer.from('cd'))).toBe(true);
    expect(sink.text).toBe('abcd');
  });

  it('that breaks off never looks complete, and keeps nothing', () => {
    const { body, send, source, readies, kept } = buffer(100);
    send('ab');
    source.sink?.fail();
    expect(readies()).toBe(0);
    expect(kept.at(-1)).toBe(0);
    expect(send('cd')).toBe(false);
    const other = buffer(1);
    other.send('ab');
    const sink = new Sink();
    other.body.start(sink);
    other.source.sink?.fail();
    expect(sink.over).toBe('fail');
    expect(body.started).toBe(false);
  });

  it('holds its own bytes, not the read that they came with', () => {
    const { body, send, end, source } = buffer(100);
    const read = Buffer.from('abcdef');
    source.sink?.chunk(read.subarray(0, 1));
    read.fill(0);
    end();
    const sink = new Sink();
    body.start(sink);
    expect(sink.text).toBe('a');
    expect(send('')).toBe(true);
  });
});
