import { describe, expect, test } from 'vitest';
import { block, frame, headers, request, TYPE, uint32 } from '../../../support/http2-frames.ts';
import { ScriptedClient } from '../../../support/scripted-client.ts';

const END = 1;
const data = (stream: number, bytes: string | Buffer = '', flags = 0) =>
  frame(TYPE.data, flags, stream, bytes);
const get = (stream: number, ...more: [string, string][]) => headers(stream, [...request(), ...more]);
const post = (stream: number, ...more: [string, string][]) =>
  headers(stream, [...request('/', 'POST'), ...more], 4);
const HEAD = ':method,GET,:scheme,http,:path,/,:authority,a.test';

describe('a session of a server', () => {
  test('begins with its SETTINGS and its window, before the client says anything', () => {
    expect(new ScriptedClient({ offersConnect: true }).frames()).toEqual([
      'settings 0 000300000064' + '000900000001' + '000800000001' + '0004000186a0' + '000600001000',
      `window 0 ${uint32(1_000_000 - 65_535).toString('hex')}`,
    ]);
  });

  test('hands on requests, and sends their responses', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(get(1), post(3), data(3, 'hello'), data(3, '', END));
    const [one, two] = [scripted.request(1), scripted.request(3)];
    expect(one.events).toEqual([`${HEAD} end`]);
    expect(two.events.slice(1)).toEqual(['data hello', 'ended']);
    two.stream.info(103, ['link', '</a>']);
    two.stream.respond(200, ['X-A', 'b'], false);
    two.stream.write(Buffer.from('hi'));
    one.stream.respond(204, [], true);
    two.stream.end(['x-sum', '1']);
    expect(scripted.frames()).toEqual([
      ...['headers 3 :status,103,link,</a>', 'headers 3 :status,200,x-a,b', 'data 3 2'],
      ...['headers 1 :status,204 end', 'headers 3 x-sum,1 end'],
    ]);
    expect([one.events.at(-1), two.events.at(-1)]).toEqual(['closed: done', 'closed: done']);
    expect(scripted.session.openStreams).toBe(0);
  });

  test('gives the same section for the same block, as long as the table does not change', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(get(1), get(3), get(5, ['x-a', 'b']), get(7));
    const [one, two, , four] = scripted.requests.map(({ head }) => head);
    expect([two, four]).toEqual([one, one]);
    expect([two === one, four === one]).toEqual([true, true]);
    // It indexes its first field.
    const indexing = block([['x-b', 'c']]).fill(0x40, 0, 1);
    scripted.send(frame(TYPE.headers, 5, 9, Buffer.concat([block(request()), indexing])), get(11));
    expect(scripted.request(11).head).toEqual(one);
    expect(scripted.request(11).head === one).toBe(false);
  });
});
