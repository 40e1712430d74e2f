import { describe, expect, test } from 'vitest';
import { Accepted } from '../../../../src/edge/server/client-connection.ts';
import { Http1Connection } from '../../../../src/edge/server/http1-connection.ts';
import { NO_TERMS } from '../../../../src/wire/http1/index.ts';
import { type Manner, RecordingGateway } from '../../../support/fuzz/recording-gateway.ts';
import { listenerState } from '../../../support/listener-state.ts';
import { MemorySocket } from '../../../support/memory-socket.ts';

const START = 'POST / HTTP/1.1\r\nHost: a.test\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n';

/** A connection that is fed by hand. */
class Conversation {
  readonly gateway: RecordingGateway;
  readonly wire = new MemorySocket();

  constructor({
    headBytes = 16_384,
    manner = 'prompt' as Manner,
    gateway = new RecordingGateway(manner),
  } = {}) {
    this.gateway = gateway;
    const client = {
      peer: '127.0.0.1',
      scheme: 'http',
      mayForward: true,
      redirects: false,
      certificate: null,
    } as const;
    const accepted = new Accepted(this.wire.asSocket, '127.0.0.1');
    const state = listenerState(this.gateway.asGateway, headBytes);
    new Http1Connection(accepted, this.wire.asSocket, client, state);
  }

  /** Each piece comes by itself, and all that can happen happens. */
  async brings(...pieces: string[]): Promise<this> {
    for (const piece of pieces) {
      this.wire.bring(Buffer.from(piece, 'latin1'));
      await this.settled();
    }
    return this;
  }

  async ends(): Promise<this> {
    this.wire.push(null);
    await this.settled();
    return this;
  }

  async settled(): Promise<void> {
    let before = -1;
    do {
      before = this.wire.written.length;
      // A response leaves a turn after it was given, and its exchange ends then.
      for (let turn = 0; turn < 4; turn++) await new Promise(resolve => setImmediate(resolve));
    } while (this.gateway.busy > 0 || this.wire.written.length > before);
  }

  /** Statuses of the responses in their order, interim ones included. */
  get statuses(): number[] {
    return [...this.wire.written.matchAll(/HTTP\/1\.1 (\d+) /g)].map(match => Number(match[1]));
  }
}

describe('a head', () => {
  const ofBytes = (bytes: number): string => `${START}X: ${'x'.repeat(bytes - START.length - 7)}\r\n\r\n`;

  test('may be as large as its cap and no byte larger, in whatever pieces it comes', async () => {
    for (const cap of [1_024, 16_384, 100_000, 1_048_576]) {
      expect(ofBytes(cap)).toHaveLength(cap);
      for (const cut of [1, 1_000, cap - 1]) {
        const [whole, larger] = [ofBytes(cap), ofBytes(cap + 1)];
        const fits = await new Conversation({ headBytes: cap }).brings(whole.slice(0, cut), whole.slice(cut));
        expect(fits.statuses, `${cap} in two`).toEqual([200]);
        const over = await new Conversation({ headBytes: cap }).brings(
          larger.slice(0, cut),
          larger.slice(cut),
        );
        expect(over.statuses, `${cap} and one, in two`).toEqual([431]);
      }
    }
  });

  test('is refused with the last byte that it may have, not with the next', async () => {
    const conversation = await new Conversation({ headBytes: 1_024 }).brings(ofBytes(1_025).slice(0, 1_023));
    expect(conversation.statuses).toEqual([]);
    expect((await conversation.brings('x')).statuses).toEqual([431]);
  });

  test('is read on to its end where it is larger than what may wait behind a request', async () => {
    const head = ofBytes(300_000);
    const pieces = head.match(/.{1,30000}/gs) ?? [];
    expect((await new Conversation({ headBytes: 1_048_576 }).brings(...pieces)).statuses).toEqual([200]);
  });

  test('of another version is answered 505, a malformed one 400, wherever it is split', async () => {
    for (const [head, status] of [
      ['GET /\r\n', 400],
      ['GET HTTP/1.1\r\n', 400],
      ['GET / HTTP/1\r\n', 400],
      ['GET / HTTP/01.01\r\n', 400],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
      ['GET / HTTP/2.0\r\nHost: a\r\n\r\n', 505],
      ['GET / FTP/1.1\r\n', 400],
    ] as const)
      for (let at = 1; at < head.length; at++)
        expect((await new Conversation().brings(head.slice(0, at), head.slice(at))).statuses).toEqual([
          status,
        ]);
  });
});

describe('before a request', () => {
  test.each(['\r\n', '\r\n\r\n'])('empty lines are skipped, however they come: %j', async lines => {
    for (const pieces of [[lines + GET], [...lines, GET], [lines, ...GET]])
      expect((await new Conversation().brings(...pieces)).statuses).toEqual([200]);
    const conversation = await new Conversation().brings(GET + lines);
    expect((await conversation.brings(GET + lines, GET)).statuses).toEqual([200, 200, 200]);
  });

  test.each(['\r', '\n', '\r\r\n', '\n\r', '\r\n\n', '\r\n\r', '\0', ' \r\n'])(
    'nothing else is (RFC 9112, 2.2): %j',
    async bytes => {
      for (const pieces of [[bytes + GET], [...bytes, GET]])
        expect((await new Conversation().brings(...pieces)).statuses).toEqual([400]);
      expect((await new Conversation().brings(GET + bytes + GET)).statuses).toEqual([200, 400]);
      expect((await new Conversation().brings(GET, bytes, GET)).statuses).toEqual([200, 400]);
    },
  );

  test('a CR alone is the beginning of something that never came', async () => {
    const conversation = await new Conversation().brings(GET, '\r');
    expect(conversation.statuses).toEqual([200]);
    expect((await conversation.ends()).statuses).toEqual([200, 400]);
  });
});

describe('behind a request', () => {
  test('what comes is read up to 64 KiB, so that a client that leaves is seen, and the rest when it is wanted', async () => {
    for (const manner of ['prompt', 'tardy'] as const) {
      const conversation = new Conversation({ manner });
      await conversation.settled();
      const pausedBehind = [1, 65_000, 70_000].map(bytes => {
        conversation.wire.bring(Buffer.from(GET.repeat(Math.ceil(bytes / GET.length))));
        return conversation.wire.isPaused();
      });
      // At first the one that is served, of which nothing waits.
      expect(pausedBehind).toEqual([false, false, true]);
      await conversation.settled();
      expect(new Set(conversation.statuses)).toEqual(new Set([200]));
      expect(conversation.wire.isPaused()).toBe(false);
      expect(conversation.wire.readableLength).toBe(0);
    }
  });

  test('a body is asked for where its client waits for that, and not where it has begun (RFC 9110, 10.1.1)', async () => {
    const head = `${START}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`;
    expect((await new Conversation().brings(head, 'hello')).statuses).toEqual([100, 200]);
    expect((await new Conversation().brings(`${head}h`, 'ello')).statuses).toEqual([200]);
    expect((await new Conversation({ manner: 'hasty' }).brings(head, 'hello')).statuses).toEqual([200]);
    const older = head.replace('HTTP/1.1', 'HTTP/1.0');
    expect((await new Conversation().brings(older, 'hello')).statuses).toEqual([200]);
  });

  test('a body is not asked for behind the beginning of the response: that would be in the midst of it', async () => {
    class EarlyGateway extends RecordingGateway {
      override run({ downstream }: Parameters<RecordingGateway['run']>[0]): void {
        downstream.head(200, '', ['Content-Length', '0']);
        downstream.body(NO_TERMS).start({ chunk: () => true, end: () => downstream.end([]), fail() {} });
      }
    }
    const conversation = new Conversation({ gateway: new EarlyGateway('prompt') });
    await conversation.brings(`${START}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`, 'hello');
    expect(conversation.statuses).toEqual([200]);
  });

  test('an unread body is skipped, and the request behind it is served', async () => {
    const body = `${START}Content-Length: ${GET.length}\r\n\r\n${GET}`;
    for (const pieces of [[body + GET], [body, GET], [body.slice(0, -9), body.slice(-9) + GET]]) {
      const { gateway } = await new Conversation({ manner: 'hasty' }).brings(...pieces);
      expect(gateway.requests.map(({ method }) => method)).toEqual(['POST', 'GET']);
    }
  });
});

describe('a client that closes its side', () => {
  const BODY = `${START}Content-Length: 5\r\n\r\nhello`;
  const CHUNKED = `${START}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`;

  test.each(['prompt', 'tardy', 'hasty'] as const)('is answered, when it is served: %s', async manner => {
    for (const request of [GET, BODY, CHUNKED, GET + BODY, BODY + BODY + GET]) {
      const conversation = new Conversation({ manner });
      conversation.wire.bring(Buffer.from(request));
      await conversation.ends();
      const count = manner === 'hasty' && request === CHUNKED ? 1 : request.split(' HTTP/').length - 1;
      expect(conversation.statuses, request).toEqual(Array(count).fill(200));
      expect(conversation.wire.writableEnded).toBe(true);
      expect(conversation.gateway.allOver).toBe(true);
      expect(conversation.gateway.refusal).toBeNull();
    }
  });

  test.each(['prompt', 'tardy'] as const)(
    'inside a request has not sent one, when it is served: %s',
    async manner => {
      for (const request of [BODY, CHUNKED, GET.repeat(2) + GET])
        for (let end = request.length - 9; end < request.length; end++) {
          const conversation = new Conversation({ manner });
          conversation.wire.bring(Buffer.from(request.slice(0, end)));
          await conversation.ends();
          expect(conversation.statuses.at(-1), request.slice(0, end)).toBe(400);
          expect(conversation.wire.writableEnded).toBe(true);
        }
    },
  );

  test('between requests is not answered', async () => {
    for (const before of ['', '\r\n', GET]) {
      const conversation = await new Conversation().brings(before);
      await conversation.ends();
      expect(conversation.statuses).toEqual(before === GET ? [200] : []);
      expect(conversation.wire.writableEnded).toBe(true);
    }
  });
});
