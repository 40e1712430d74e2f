import { describe, expect, test } from 'vitest';
import { EarlyPriorities, readPriority } from '../../../../../src/wire/http2/server/priority.ts';
import { frame, headers, request, TYPE, uint32 } from '../../../../support/http2-frames.ts';
import { ScriptedClient } from '../../../../support/scripted-client.ts';

test.each<[string, number, boolean]>([
  ['', 3, false],
  ['u=0', 0, false],
  ['u=7, i', 7, true],
  ['i, u=5', 5, true],
  ['i=?1;x=y,u=1', 1, true],
  ['i=?0', 3, false],
  ['u=8', 3, false],
  ['u=1.5', 3, false],
  ['xu=1, xi', 3, false],
  ['nonsense', 3, false],
])('the priority "%s" is read', (value, urgency, isIncremental) => {
  expect(readPriority(value)).toEqual({ urgency, isIncremental });
});

test('of a long priority, only the beginning is read', () => {
  expect(readPriority(`u=1${' '.repeat(16_000)}, i`)).toEqual({ urgency: 1, isIncremental: false });
});

test('priorities of streams that are not open yet are kept as what they say, a bounded number', () => {
  const early = new EarlyPriorities(2);
  for (const id of [3, 5, 7, 5]) early.set(id, `u=${id}, i${' '.repeat(16_000)}`);
  expect([early.take(5), early.take(7)]).toEqual([{ urgency: 5, isIncremental: true }, undefined]);
  early.set(9, 'u=1');
  expect(early.take(9)).toEqual({ urgency: 1, isIncremental: false });
});

describe('responses that wait', () => {
  const update = (stream: number, value: string) =>
    frame(0x10, 0, 0, Buffer.concat([uint32(stream), Buffer.from(value)]));

  /** A session whose window is used up, with a response that waits for each of these priorities. */
  function waiting(...priorities: (string | null)[]) {
    const scripted = ScriptedClient.begun([[4, 1_000_000]]);
    scripted.send(headers(1, request()));
    const filler = scripted.request(1).stream;
    filler.respond(200, [], false);
    filler.write(Buffer.alloc(65_535));
    priorities.forEach((value, i) => {
      const id = 2 * i + 3;
      scripted.send(headers(id, value === null ? request() : [...request(), ['priority', value]]));
      const { stream } = scripted.request(id);
      stream.respond(200, [], false);
      stream.write(Buffer.alloc(20_000));
    });
    scripted.frames();
    return scripted;
  }

  const sent = (scripted: ScriptedClient, bytes: number) => {
    scripted.send(frame(TYPE.windowUpdate, 0, 0, uint32(bytes)));
    return scripted.frames().map(text => text.replace('data ', ''));
  };

  test('are sent by urgency', () => {
    const scripted = waiting('u=5', null, 'u=1');
    expect(sent(scripted, 60_000)).toEqual([
      ...['7 16384', '7 3616', '5 16384', '5 3616', '3 16384', '3 3616'],
    ]);
  });

  test('take turns where they are as urgent, unless they asked to come whole', () => {
    expect(sent(waiting(null, null), 40_000)).toEqual(['3 16384', '5 16384', '3 3616', '5 3616']);
    expect(sent(waiting('u=3, i', 'i'), 40_000)).toEqual(['3 16384', '5 16384', '3 3616', '5 3616']);
    expect(sent(waiting('u=3', 'u=3'), 40_000)).toEqual(['3 16384', '3 3616', '5 16384', '5 3616']);
  });

  test('may become more urgent', () => {
    const scripted = waiting(null, null);
    scripted.send(update(5, 'u=0'), update(9, 'u=0'));
    expect(sent(scripted, 20_000)).toEqual(['5 16384', '5 3616']);
  });

  test('may be made urgent before they are asked for', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(update(1, 'u=1'), update(3, 'u=2, i'), headers(1, request()), headers(3, request()));
    expect(scripted.requests.map(({ stream }) => [stream.urgency, stream.isIncremental])).toEqual([
      [1, false],
      [2, true],
    ]);
  });
});
