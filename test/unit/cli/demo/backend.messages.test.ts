import { describe, expect, it } from 'vitest';
import { ChatMessages } from '../../../../src/cli/demo/backend.ts';

const clock = { epochMs: () => 1_767_225_600_000, monotonicMs: () => 0 };

describe('the demo’s messages', () => {
  it('are listed by channel, oldest first', () => {
    const messages = new ChatMessages(clock);
    messages.post('a', 'one');
    messages.post('b', 'other');
    messages.post('a', 'two');
    expect(messages.list('a')).toEqual([
      { id: 1, channelId: 'a', text: 'one', sentAt: '2026-01-01T00:00:00.000Z' },
      { id: 3, channelId: 'a', text: 'two', sentAt: '2026-01-01T00:00:00.000Z' },
    ]);
    expect(messages.list('never used')).toEqual([]);
  });

  it('are kept up to 100 in a channel', () => {
    const messages = new ChatMessages(clock);
    for (let i = 1; i <= 101; i++) messages.post('a', `${i}`);
    expect(messages.list('a').map(message => message.text)).toEqual(
      Array.from({ length: 100 }, (_, i) => `${i + 2}`),
    );
  });

  it('are forgotten with the channel that rested longest when there are more than 100', () => {
    const messages = new ChatMessages(clock);
    for (let i = 1; i <= 100; i++) messages.post(`channel ${i}`, 'text');
    messages.post('channel 1', 'used again');
    messages.post('one more', 'text');
    expect(messages.list('channel 1')).toHaveLength(2);
    expect(messages.list('channel 2')).toEqual([]);
    expect(messages.list('channel 3')).toHaveLength(1);
  });
});
