import type { Clock, NoticeEvent, NoticeListener } from '../../core/index.ts';
import type { Logger } from './logger.ts';

/** Anyone who reaches the endpoint can cause these lines: each flaw is logged once per interval, with the number of notices. */
const INTERVAL_MS = 60_000;

/** Notices refused for one reason. */
interface Series {
  /** Last logged, by the monotonic clock. */
  loggedAtMs: number;
  /** Since then. */
  notices: number;
}

/** Logs what providers tell. A logout is an everyday event, which metrics count. */
export class NoticeLog implements NoticeListener {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** By kind and reason; both are closed lists. */
  readonly #series = new Map<string, Series>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  noticeReceived(event: NoticeEvent): void {
    const { kind, outcome, notBeforeS } = event;
    if (outcome === 'accepted' && notBeforeS === 0)
      this.#log.warn(
        { type: 'notice', notice: kind },
        'the provider took its not-before mark back: it no longer refuses older tokens',
      );
    else if (outcome === 'accepted' && notBeforeS !== null)
      this.#log.warn(
        { type: 'notice', notice: kind, notBefore: new Date(notBeforeS * 1_000).toISOString() },
        'the provider moved the not-before mark: older tokens are refused',
      );
    else if (outcome !== 'accepted') this.#logBad(event);
  }

  #logBad({ kind, outcome, flaw, claim }: NoticeEvent): void {
    const nowMs = this.#clock.monotonicMs();
    const key = `${kind} ${outcome} ${flaw} ${claim}`;
    const series = this.#series.get(key) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, notices: 0 };
    series.notices++;
    this.#series.set(key, series);
    if (nowMs - series.loggedAtMs < INTERVAL_MS) return;
    const { notices } = series;
    this.#log.warn(
      {
        type: 'notice',
        notice: kind,
        outcome,
        reason: flaw ?? undefined,
        claim: claim ?? undefined,
        notices,
      },
      'what claims to be a notice of the provider changed nothing',
    );
    series.loggedAtMs = nowMs;
    series.notices = 0;
  }
}
