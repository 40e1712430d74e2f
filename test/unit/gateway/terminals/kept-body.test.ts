import { describe, expect, test } from 'vitest';
import type { BodySink } from '../../../../src/core/index.ts';
import { KeptBody } from '../../../../src/gateway/terminals/kept-body.ts';
import { HandBody } from '../../../support/hand-body.ts';

/** Takes a body, as an attempt to send it does. */
class Attempt implements BodySink {
  text = '';
  pieces = 0;
  wantsMore = true;

  chunk(bytes: Buffer): boolean {
    this.pieces++;
    this.text += bytes.toString('latin1');
    return this.wantsMore;
  }

  end(): void {
    this.text += '.';
  }

  fail(): void {
    this.text += '!';
  }
}

function begun(maxBytes = 10) {
  const source = new HandBody();
  const body = new KeptBody(source, maxBytes);
  const first = new Attempt();
  body.start(first);
  const chunk = (text: string) => source.sink?.chunk(Buffer.from(text));
  return { source, body, first, chunk };
}

describe('a body that is kept', () => {
  test('is sent again from its first byte, and goes on', () => {
    const { source, body, first, chunk } = begun();
    chunk('hello');
    const second = new Attempt();
    body.start(second);
    chunk(' you');
    source.sink?.end();
    expect([first.text, second.text]).toEqual(['hello', 'hello you.']);
  });

  test('is sent again whole after its end', () => {
    const { source, body, chunk } = begun();
    chunk('hello');
    source.sink?.end();
    const second = new Attempt();
    body.start(second);
    expect(second.text).toBe('hello.');
    expect(body.bytes).toBe(5);
  });

  test('is joined where it comes byte by byte: each piece would take many times its size', () => {
    const { source, body, first, chunk } = begun(1_000);
    const text = 'abcdefghij'.repeat(100);
    for (const byte of text) chunk(byte);
    const second = new Attempt();
    body.start(second);
    source.sink?.end();
    expect([first.pieces, first.text]).toEqual([1_000, text]);
    expect([second.pieces, second.text]).toEqual([1, `${text}.`]);
    expect(body.bytes).toBe(1_000);
  });

  test('is read on, or not, as the next attempt takes it', () => {
    const { source, body, first, chunk } = begun();
    first.wantsMore = false;
    chunk('hello');
    body.pause();
    const second = new Attempt();
    body.start(second);
    expect(source.paused).toBe(false);
    second.wantsMore = false;
    body.start(second);
    expect(source.paused).toBe(true);
  });

  test('is kept up to its size, and until it is forgotten', () => {
    const { body, chunk, first } = begun(5);
    chunk('hello');
    expect([body.mayRestart, body.bytes]).toEqual([true, 5]);
    chunk('!');
    expect([body.mayRestart, body.bytes, first.text]).toEqual([false, 0, 'hello!']);
    const other = begun();
    other.chunk('hello');
    other.body.forget();
    expect([other.body.mayRestart, other.body.bytes]).toEqual([false, 0]);
  });

  test('is not sent again once its client broke it off', () => {
    const { source, body, first, chunk } = begun();
    chunk('hello');
    source.sink?.fail();
    expect([body.mayRestart, first.text]).toEqual([false, 'hello!']);
  });
});
