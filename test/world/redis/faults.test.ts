import { beforeEach, describe, expect, test } from 'vitest';
import { bytesOfCommand } from './both-redis.ts';
import { type Fate, RedisModel, type Session } from './redis-model.ts';

let nowUs: number;
let model: RedisModel;
beforeEach(() => {
  nowUs = 1_700_000_000_000_000;
  model = new RedisModel(() => nowUs);
});

/** A connection, with what it has received. */
class Connection {
  text = '';
  isOpen = true;
  readonly #session: Session;

  constructor() {
    this.#session = model.accept({
      send: bytes => {
        this.text += bytes.toString('latin1');
      },
      close: () => {
        this.isOpen = false;
      },
    });
  }

  /** Sends a command, and returns what has come since the last one. */
  ask(...words: readonly (string | number)[]): string {
    this.#session.receive(bytesOfCommand(words));
    const { text } = this;
    this.text = '';
    return text;
  }
}

const SUM = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
const SHA = 'e8c5e4b0c3ad3bdb1a4eb3a8a7e4f5a5f1ad8f0e';

describe('a replica that takes over', () => {
  test('lacks the last changes, each as a whole, and its clients have to connect again', () => {
    const connection = new Connection();
    const twice = "redis.call('ZADD', KEYS[1], 1, 'a') redis.call('SET', KEYS[2], 'x') return 1";
    connection.ask('set', 'kept', '1');
    connection.ask('eval', twice, 2, 'set', 'text');
    connection.ask('zadd', 'set', 2, 'b');
    connection.ask('get', 'kept');
    model.failOver(2);
    expect(connection.isOpen).toBe(false);
    expect(new Connection().ask('keys', '*')).toBe('*1\r\n$4\r\nkept\r\n');
  });

  test('was sent no scripts, and its clock may be another', () => {
    const connection = new Connection();
    connection.ask('set', 'short', '1', 'PX', 1_000);
    const sha = connection.ask('script', 'load', SUM).split('\r\n')[1] ?? '';
    expect(connection.ask('evalsha', sha, 1, 'n', 2)).toBe(':2\r\n');
    model.failOver(0, 2_000);
    const next = new Connection();
    expect(next.ask('evalsha', sha, 1, 'n', 2)).toMatch(/^-NOSCRIPT /);
    expect(next.ask('get', 'short')).toBe('$-1\r\n');
    expect(next.ask('time')).toContain('1700000002');
  });

  test('still has a key that was over for its master, if its clock is behind', () => {
    const connection = new Connection();
    connection.ask('set', 'short', '1', 'PX', 1_000);
    nowUs += 1_001_000;
    expect(connection.ask('get', 'short')).toBe('$-1\r\n');
    model.failOver(1, -500);
    expect(new Connection().ask('pttl', 'short')).toBe(':499\r\n');
  });
});

test.each<[Fate, string]>([
  ['is lost', '$1\r\n1\r\n'],
  ['runs and its reply is lost', '$1\r\n2\r\n'],
])('a command that %s costs its connection alone', (fate, left) => {
  const [one, other] = [new Connection(), new Connection()];
  one.ask('set', 'n', '1');
  model.fate = ({ name }) => (name === 'incr' ? fate : 'runs');
  expect(one.ask('incr', 'n')).toBe('');
  expect([one.isOpen, other.isOpen]).toEqual([false, true]);
  expect(other.ask('get', 'n')).toBe(left);
});

test('a frozen server answers when it thaws, in order', () => {
  const [one, other] = [new Connection(), new Connection()];
  model.freeze();
  expect([one.ask('incr', 'n'), other.ask('incr', 'n'), one.ask('incr', 'n')]).toEqual(['', '', '']);
  model.thaw();
  expect([one.text, other.text]).toEqual([':1\r\n:3\r\n', ':2\r\n']);
});

test('what an owner does to a server shows in its replies until it undoes it', () => {
  const connection = new Connection();
  const reply = () => connection.ask('set', 'k', 'v').slice(0, 8).trim();
  const replies = [reply()];
  model.isFull = true;
  replies.push(reply());
  model.isFull = false;
  model.isReplica = true;
  replies.push(reply());
  model.isReplica = false;
  for (const condition of ['loading', 'busy', 'ready'] as const) {
    model.condition = condition;
    replies.push(reply());
  }
  model.forbidden = new Set(['set']);
  replies.push(reply());
  expect(replies).toEqual(['+OK', '-OOM com', '-READONL', '-LOADING', '-BUSY Re', '+OK', '-NOPERM']);
});

test('a server that starts again forgets its scripts, and its data unless that was saved', () => {
  const connection = new Connection();
  connection.ask('set', 'k', 'v');
  model.restart(true);
  expect(new Connection().ask('get', 'k')).toBe('$1\r\nv\r\n');
  model.restart(false);
  expect(new Connection().ask('get', 'k')).toBe('$-1\r\n');
  expect(new Connection().ask('evalsha', SHA, 0)).toMatch(/^-NOSCRIPT/);
});

test('a key is evicted, which a replica may lack', () => {
  const connection = new Connection();
  connection.ask('set', 'k', 'v');
  model.evict(['k', 'none']);
  expect(connection.ask('get', 'k')).toBe('$-1\r\n');
  model.failOver(1);
  expect(new Connection().ask('get', 'k')).toBe('$1\r\nv\r\n');
});

test('what the model does not know ends the test, also in a script', () => {
  const connection = new Connection();
  expect(() => connection.ask('lpush', 'a', 'b')).toThrow('does not know lpush');
  const script = "return redis.pcall('lpush', 'a', 'b')";
  expect(() => new Connection().ask('eval', script, 0)).toThrow('does not know lpush');
  expect(() => new Connection().ask('eval', 'return cjson.encode({})', 0)).toThrow('cjson.encode');
});
