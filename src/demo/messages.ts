import type { Clock } from '../core/index.ts';

export interface Message {
  readonly id: number;
  readonly channelId: string;
  readonly text: string;
  /** ISO 8601, UTC. */
  readonly sentAt: string;
}

/** Keeps the last messages of a channel, and the channels that were written to last. */
const MAX_MESSAGES = 100;
const MAX_CHANNELS = 100;

/** Channels and their messages, in memory. The first message creates its channel. */
export class Messages {
  readonly #clock: Clock;
  readonly #channels = new Map<string, Message[]>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The messages of a channel, oldest first. */
  list(channelId: string): readonly Message[] {
    return this.#channels.get(channelId) ?? [];
  }

  post(channelId: string, text: string): Message {
    const sentAt = new Date(this.#clock.epochMs()).toISOString();
    const message = { id: ++this.#lastId, channelId, text, sentAt };
    const messages = [...this.list(channelId), message].slice(-MAX_MESSAGES);
    // Delete and set again, so that the map's first key is the channel that was written to longest ago.
    this.#channels.delete(channelId);
    this.#channels.set(channelId, messages);
    const [oldest] = this.#channels.keys();
    if (oldest !== undefined && this.#channels.size > MAX_CHANNELS) this.#channels.delete(oldest);
    return message;
  }
}
