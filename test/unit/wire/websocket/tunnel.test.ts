import { describe, expect, test } from 'vitest';
import { CloseCode, closeFrame } from '../../../../src/wire/websocket/handshake.ts';
import { Tunnel } from '../../../../src/wire/websocket/tunnel.ts';
import { MemoryStream } from '../../../support/memory-stream.ts';
import { CLOSE, closePayload, frame, masked } from '../../../support/raw-web-sockets.ts';

const MASK = Buffer.of(1, 2, 3, 4);
const IDLE_MS = 60_000;
const CLOSING_MS = 5_000;
const NOTHING = Buffer.alloc(0);
const GOING = [CloseCode.goingAway, 'going'] as const;
const NO_FRAME = [CloseCode.protocolError, 'not a WebSocket frame'] as const;
const FROM_CLIENT = { hello: masked('hello'), close: masked(closePayload(1000), { opcode: CLOSE }) };
const FROM_UPSTREAM = { hello: frame('hello'), close: frame(closePayload(1000), { opcode: CLOSE }) };

/** A started tunnel, which began at 0 ms. */
function open() {
  const [client, upstream] = [new MemoryStream(), new MemoryStream()];
  let overs = 0;
  const over = () => void overs++;
  const tunnel = new Tunnel(client, upstream, 0, {
    idleMs: IDLE_MS,
    extended: false,
    mask: () => MASK,
    over,
  });
  tunnel.start();
  return { client, upstream, tunnel, overs: () => overs };
}

type Parts = ReturnType<typeof open>;

/** What the gateway did to both ends. */
const states = ({ client, upstream }: Parts) => [client.state, upstream.state];

test('a receiver slows down the sender of its own direction only, and frees it', () => {
  const { client, upstream } = open();
  upstream.takes = false;
  client.bring(FROM_CLIENT.hello);
  expect([client.paused, upstream.paused]).toEqual([true, false]);
  client.takes = false;
  upstream.bring(FROM_UPSTREAM.hello);
  client.drain();
  expect([client.paused, upstream.paused]).toEqual([true, false]);
  upstream.drain();
  expect([client.paused, upstream.paused]).toEqual([false, false]);
});

describe('when the gateway ends it', () => {
  test('both get its Close, masked for the upstream alone, and no more bytes', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    tunnel.finish(...GOING);
    expect(client.written).toEqual(closeFrame(...GOING, null));
    expect(upstream.written).toEqual(closeFrame(...GOING, MASK));
    expect(states(parts)).toEqual(['ended', 'ended']);
    expect(tunnel.end).toBe('gateway');
  });

  test('each direction waits for its own frame', () => {
    const { client, upstream, tunnel } = open();
    upstream.bring(FROM_UPSTREAM.hello.subarray(0, 3));
    tunnel.finish(...GOING);
    expect(upstream.written).toEqual(closeFrame(...GOING, MASK));
    expect(client.written).toEqual(FROM_UPSTREAM.hello.subarray(0, 3));
    upstream.bring(FROM_UPSTREAM.hello.subarray(3));
    expect(client.written).toEqual(Buffer.concat([FROM_UPSTREAM.hello, closeFrame(...GOING, null)]));
  });

  test('both are cut five seconds after the sweep that saw it end, whatever still comes', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    client.bring(FROM_CLIENT.hello.subarray(0, 3));
    tunnel.finish(...GOING);
    tunnel.sweep(1_000);
    client.bring(FROM_CLIENT.hello.subarray(3, 5));
    tunnel.sweep(1_000 + CLOSING_MS - 1);
    expect(states(parts)).toEqual(['ended', 'open']);
    tunnel.sweep(1_000 + CLOSING_MS);
    expect(states(parts)).toEqual(['destroyed', 'destroyed']);
    expect(upstream.written).toEqual(FROM_CLIENT.hello.subarray(0, 5));
  });

  test('a second reason changes nothing', () => {
    const { client, tunnel } = open();
    tunnel.finish(...GOING);
    tunnel.finish(CloseCode.policyViolation, 'no');
    expect(client.written).toEqual(closeFrame(...GOING, null));
  });
});

describe('when the gateway revokes what allowed it', () => {
  const REVOKED = [CloseCode.policyViolation, 'no'] as const;

  test('both get its Close where no frame is passing, and nothing the client sends passes any more', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    tunnel.revoke(...REVOKED);
    client.bring(FROM_CLIENT.hello);
    expect(client.written).toEqual(closeFrame(...REVOKED, null));
    expect(upstream.written).toEqual(closeFrame(...REVOKED, MASK));
    expect(states(parts)).toEqual(['ended', 'ended']);
    expect(tunnel.end).toBe('gateway');
  });

  test.each([1, 2, 4, 8])(
    'behind byte %i of a frame, not a byte more of the client passes, and no Close',
    at => {
      const parts = open();
      const { client, upstream, tunnel } = parts;
      client.bring(FROM_CLIENT.hello.subarray(0, at));
      tunnel.revoke(...REVOKED);
      client.bring(FROM_CLIENT.hello.subarray(at), FROM_CLIENT.hello);
      expect(upstream.written).toEqual(FROM_CLIENT.hello.subarray(0, at));
      expect(client.written).toEqual(closeFrame(...REVOKED, null));
      expect(states(parts)).toEqual(['ended', 'ended']);
      expect(tunnel.toUpstream.passed).toBe(at);
    },
  );

  test('what the upstream has not taken is thrown away with its connection', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    upstream.takes = false;
    client.bring(FROM_CLIENT.hello);
    tunnel.revoke(...REVOKED);
    expect(upstream.written).toEqual(FROM_CLIENT.hello);
    expect(states(parts)).toEqual(['ended', 'destroyed']);
  });

  test('the client still gets the rest of the frame that is passing to it, and then the Close', () => {
    const { client, upstream, tunnel } = open();
    upstream.bring(FROM_UPSTREAM.hello.subarray(0, 3));
    tunnel.revoke(...REVOKED);
    upstream.bring(FROM_UPSTREAM.hello.subarray(3));
    expect(client.written).toEqual(Buffer.concat([FROM_UPSTREAM.hello, closeFrame(...REVOKED, null)]));
  });

  test('the client is cut off as well where it may have finished its frame: the gateway goes', () => {
    const { client, upstream, tunnel } = open();
    client.bring(FROM_CLIENT.hello.subarray(0, 3));
    tunnel.finish(...GOING);
    tunnel.revoke(...REVOKED);
    client.bring(FROM_CLIENT.hello.subarray(3));
    expect(upstream.written).toEqual(FROM_CLIENT.hello.subarray(0, 3));
    expect(upstream.state).toBe('ended');
    expect(client.written).toEqual(closeFrame(...GOING, null));
  });

  test('a client that has said Close gets no further byte through, and its upstream no second Close', () => {
    const { client, upstream, tunnel } = open();
    client.bring(FROM_CLIENT.close);
    tunnel.revoke(...REVOKED);
    expect(upstream.written).toEqual(FROM_CLIENT.close);
    expect(client.written).toEqual(closeFrame(...REVOKED, null));
  });
});

describe('where nothing passes', () => {
  test('it ends after its idle time with 1001', () => {
    const { client, upstream, tunnel } = open();
    tunnel.sweep(IDLE_MS - 1);
    expect(tunnel.end).toBe('open');
    tunnel.sweep(IDLE_MS);
    expect(client.written).toEqual(closeFrame(CloseCode.goingAway, 'idle', null));
    expect(upstream.written).toEqual(closeFrame(CloseCode.goingAway, 'idle', MASK));
    expect(tunnel.end).toBe('gateway');
  });

  test.each([
    ['client', (parts: Parts) => parts.client.bring(FROM_CLIENT.hello.subarray(0, 1))],
    ['upstream', (parts: Parts) => parts.upstream.bring(FROM_UPSTREAM.hello.subarray(0, 1))],
  ])('a byte of the %s begins that time anew', (_, act) => {
    const parts = open();
    act(parts);
    parts.tunnel.sweep(IDLE_MS);
    expect(parts.tunnel.end).toBe('open');
    parts.tunnel.sweep(2 * IDLE_MS - 1);
    expect(parts.tunnel.end).toBe('open');
    parts.tunnel.sweep(2 * IDLE_MS);
    expect(parts.tunnel.end).toBe('gateway');
  });

  test('for five seconds behind the Close of one end alone, that end gets one of the gateway and the other no second one', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    client.bring(FROM_CLIENT.close);
    tunnel.sweep(1);
    tunnel.sweep(CLOSING_MS);
    expect([tunnel.end, client.written]).toEqual(['open', NOTHING]);
    tunnel.sweep(1 + CLOSING_MS);
    expect(tunnel.end).toBe('closed');
    expect(client.written).toEqual(closeFrame(CloseCode.goingAway, 'no Close came back', null));
    expect(upstream.written).toEqual(FROM_CLIENT.close);
    tunnel.sweep(2 + CLOSING_MS);
    tunnel.sweep(2 + 2 * CLOSING_MS);
    expect(states(parts)).toEqual(['destroyed', 'destroyed']);
  });

  test('behind the Close of the upstream alone, what the client still sends begins those five seconds anew', () => {
    const { client, upstream, tunnel } = open();
    upstream.bring(FROM_UPSTREAM.close);
    tunnel.sweep(1);
    client.bring(FROM_CLIENT.hello);
    tunnel.sweep(CLOSING_MS);
    tunnel.sweep(2 * CLOSING_MS - 1);
    expect(tunnel.end).toBe('open');
    tunnel.sweep(2 * CLOSING_MS);
    expect(tunnel.end).toBe('closed');
    const answer = closeFrame(CloseCode.goingAway, 'no Close came back', MASK);
    expect(upstream.written).toEqual(Buffer.concat([FROM_CLIENT.hello, answer]));
    expect(client.written).toEqual(FROM_UPSTREAM.close);
  });
});

test('once both said Close, the end of the connections is left to them for five seconds', () => {
  const parts = open();
  const { client, upstream, tunnel } = parts;
  client.bring(FROM_CLIENT.close);
  upstream.bring(FROM_UPSTREAM.close);
  expect(tunnel.end).toBe('closed');
  expect(client.written).toEqual(FROM_UPSTREAM.close);
  tunnel.sweep(0);
  tunnel.sweep(CLOSING_MS - 1);
  expect(states(parts)).toEqual(['open', 'open']);
  tunnel.sweep(CLOSING_MS);
  expect(states(parts)).toEqual(['destroyed', 'destroyed']);
});

test('an end that closes its direction without a Close still gets what the other says, for five seconds', () => {
  const parts = open();
  const { client, upstream, tunnel } = parts;
  client.finish();
  expect(states(parts)).toEqual(['open', 'ended']);
  expect(tunnel.end).toBe('client');
  upstream.bring(FROM_UPSTREAM.hello);
  expect(client.written).toEqual(FROM_UPSTREAM.hello);
  tunnel.sweep(0);
  upstream.bring(FROM_UPSTREAM.hello);
  tunnel.finish(...GOING);
  upstream.finish();
  tunnel.sweep(CLOSING_MS - 1);
  expect(client.written).toEqual(Buffer.concat([FROM_UPSTREAM.hello, FROM_UPSTREAM.hello]));
  expect(states(parts)).toEqual(['ended', 'ended']);
  tunnel.sweep(CLOSING_MS);
  expect(states(parts)).toEqual(['destroyed', 'destroyed']);
});

/** Until when a connection lives, and how the tunnel ends if the client's, or the upstream's, goes then. */
const MOMENTS: [moment: string, client: string, upstream: string, act: (parts: Parts) => void][] = [
  ['before the first byte', 'client', 'upstream', () => {}],
  [
    'in the middle of frames',
    ...(['client', 'upstream'] as const),
    ({ client, upstream }) => {
      client.bring(FROM_CLIENT.hello.subarray(0, 3));
      upstream.bring(FROM_UPSTREAM.hello.subarray(0, 3));
    },
  ],
  [
    'while its bytes are not taken',
    ...(['client', 'upstream'] as const),
    ({ client, upstream }) => {
      client.takes = upstream.takes = false;
      client.bring(FROM_CLIENT.hello);
      upstream.bring(FROM_UPSTREAM.hello);
    },
  ],
  ['after the Close of the client', 'closed', 'upstream', ({ client }) => client.bring(FROM_CLIENT.close)],
  [
    'after the Close of the upstream',
    ...(['client', 'closed'] as const),
    ({ upstream }) => upstream.bring(FROM_UPSTREAM.close),
  ],
  ['after the client ended', 'client', 'client', ({ client }) => client.finish()],
  ['after the upstream ended', 'upstream', 'upstream', ({ upstream }) => upstream.finish()],
  ['after the gateway ended it', 'gateway', 'gateway', ({ tunnel }) => tunnel.finish(...GOING)],
];

describe.each(MOMENTS)('a connection that goes %s', (_, byClient, byUpstream, act) => {
  test('takes the other along, where it is the client’s', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    act(parts);
    const before = upstream.written;
    client.vanish();
    expect(tunnel.end).toBe(byClient);
    expect(upstream.state).toBe('ends soon');
    expect(upstream.written).toEqual(before);
    // The system gives up what it has not taken.
    client.drain();
    const { passed } = tunnel.toClient;
    upstream.bring(FROM_UPSTREAM.hello);
    expect(tunnel.toClient.passed).toBe(passed);
    expect(parts.overs()).toBe(0);
    upstream.vanish();
    expect(parts.overs()).toBe(1);
    expect(tunnel.end).toBe(byClient);
  });

  test('ends the other, where it is the upstream’s, and five seconds later cuts it', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    act(parts);
    const before = client.written;
    upstream.vanish();
    // The system gives up what it has not taken.
    upstream.drain();
    expect(tunnel.end).toBe(byUpstream);
    expect(client.state).toBe('ended');
    expect(client.written).toEqual(before);
    const { passed } = tunnel.toUpstream;
    client.bring(FROM_CLIENT.hello);
    expect(tunnel.toUpstream.passed).toBe(passed);
    tunnel.sweep(0);
    tunnel.sweep(CLOSING_MS);
    expect(client.state).toBe('destroyed');
    client.vanish();
    expect(parts.overs()).toBe(1);
  });
});

describe('what is no frame', () => {
  test('from the client is answered to it with 1002, and cuts the upstream', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    client.bring(Buffer.concat([FROM_CLIENT.hello, frame('x')]));
    expect(upstream.written).toEqual(FROM_CLIENT.hello);
    expect(client.written).toEqual(closeFrame(...NO_FRAME, null));
    expect(states(parts)).toEqual(['ended', 'destroyed']);
    expect(tunnel.end).toBe('fault');
  });

  test('from the client is answered behind the frame that is passing to it, and cuts the upstream only then', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    upstream.bring(FROM_UPSTREAM.hello.subarray(0, 3));
    client.bring(frame('x'));
    expect(states(parts)).toEqual(['open', 'open']);
    upstream.bring(Buffer.concat([FROM_UPSTREAM.hello.subarray(3), FROM_UPSTREAM.hello]));
    expect(client.written).toEqual(Buffer.concat([FROM_UPSTREAM.hello, closeFrame(...NO_FRAME, null)]));
    expect(states(parts)).toEqual(['ended', 'destroyed']);
    expect([upstream.written, tunnel.end]).toEqual([NOTHING, 'fault']);
  });

  test('from the client cuts both after five seconds where the upstream never ends its frame', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    upstream.bring(FROM_UPSTREAM.hello.subarray(0, 3));
    client.bring(frame('x'));
    tunnel.sweep(0);
    tunnel.sweep(CLOSING_MS);
    expect(states(parts)).toEqual(['destroyed', 'destroyed']);
    expect(client.written).toEqual(FROM_UPSTREAM.hello.subarray(0, 3));
  });

  test('from the client cuts the upstream at once where that has said Close', () => {
    const parts = open();
    parts.upstream.bring(FROM_UPSTREAM.close);
    parts.client.bring(frame('x'));
    expect(states(parts)).toEqual(['open', 'destroyed']);
    expect(parts.client.written).toEqual(FROM_UPSTREAM.close);
  });

  test('from the upstream is answered to it with a masked 1002, and cuts the client', () => {
    const parts = open();
    const { client, upstream, tunnel } = parts;
    upstream.bring(masked('x'));
    expect(client.written).toEqual(NOTHING);
    expect(upstream.written).toEqual(closeFrame(...NO_FRAME, MASK));
    expect(states(parts)).toEqual(['destroyed', 'ended']);
    tunnel.sweep(0);
    tunnel.sweep(CLOSING_MS);
    expect(states(parts)).toEqual(['destroyed', 'destroyed']);
  });
});
