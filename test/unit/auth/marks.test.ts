import { beforeEach, describe, expect, it } from 'vitest';
import { type AnonymousMark, MARK_LIMITS, NotBeforeMarks } from '../../../src/auth/index.ts';
import { START_S } from './fixture.ts';

let nowS = START_S;
let evictions = 0;
const clock = { epochMs: () => nowS * 1_000, monotonicMs: () => 0 };

function marks(changed: Partial<typeof MARK_LIMITS> = {}): NotBeforeMarks {
  return new NotBeforeMarks({ ...MARK_LIMITS, ...changed }, clock, () => {
    evictions += 1;
  });
}

beforeEach(() => {
  nowS = START_S;
  evictions = 0;
});

describe('the mark of the issuer', () => {
  it('refuses what was issued before it, for every subject, and nothing issued in the same second', () => {
    const all = marks();
    all.setIssuerMark(START_S);
    expect(all.refuse('ada', START_S - 1)).toBe(true);
    expect(all.refuse(null, START_S - 1)).toBe(true);
    expect(all.refuse('ada', START_S)).toBe(false);
  });

  it('may be lowered', () => {
    const all = marks();
    all.setIssuerMark(START_S);
    all.setIssuerMark(0);
    expect(all.refuse('ada', 0)).toBe(false);
  });
});

describe('the mark of a subject', () => {
  it('refuses what was issued to that subject before it', () => {
    const all = marks();
    all.learn('ada', START_S);
    expect(all.refuse('ada', START_S - 1)).toBe(true);
    expect(all.refuse('ada', START_S)).toBe(false);
    expect(all.refuse('bob', START_S - 1)).toBe(false);
    expect(all.refuse(null, START_S - 1)).toBe(false);
  });

  it('is not lowered by an older response', () => {
    const all = marks();
    all.learn('ada', START_S);
    all.learn('ada', START_S - 100);
    all.learn('ada', 0);
    expect(all.refuse('ada', START_S - 1)).toBe(true);
  });

  it('is raised by a newer response', () => {
    const all = marks();
    all.learn('ada', START_S - 100);
    all.learn('ada', START_S);
    expect(all.refuse('ada', START_S - 1)).toBe(true);
    expect([...all.running()]).toHaveLength(1);
  });

  it.each([0, -1, Number.NaN])('is not learnt from %d', mark => {
    const all = marks();
    all.learn('ada', mark);
    expect([...all.running()]).toEqual([]);
  });

  it('is forgotten when a day has passed and no longer-lived token was seen', () => {
    const all = marks();
    all.learn('ada', START_S);
    nowS += 86_400;
    all.learn('bob', nowS);
    expect([...all.running()]).toHaveLength(2);
    nowS += 1;
    all.learn('eve', nowS);
    expect([...all.running()]).toHaveLength(2);
    expect(all.refuse('ada', START_S - 1)).toBe(false);
    expect(evictions).toBe(0);
  });

  it('is kept as long as the longest-lived token that was seen', () => {
    const all = marks();
    all.observeLife(10 * 86_400);
    all.observeLife(300);
    all.learn('ada', START_S);
    nowS += 9 * 86_400;
    all.learn('bob', nowS);
    expect(all.refuse('ada', START_S - 1)).toBe(true);
  });

  it('is evicted by a newer one beyond the maximum, which is announced', () => {
    const all = marks({ maxSubjects: 100 });
    for (let i = 0; i < 150; i += 1) all.learn(`subject ${i}`, START_S);
    expect([...all.running()]).toHaveLength(100);
    expect(evictions).toBe(50);
    expect(all.refuse('subject 49', 0)).toBe(false);
    expect(all.refuse('subject 50', 0)).toBe(true);
  });
});

describe('a mark that another gateway learnt', () => {
  function pair(changed: Partial<typeof MARK_LIMITS> = {}) {
    const [first, second] = [marks(), marks(changed)];
    const told: AnonymousMark[] = [];
    first.announceTo(mark => {
      told.push(mark);
      second.adopt(mark.digest, mark.markS);
    });
    second.announceTo(() => expect.fail('what was adopted is not announced'));
    return { first, second, told };
  }

  it('refuses here what it refuses there, without naming its subject', () => {
    const { first, second, told } = pair();
    first.learn('ada', START_S - 100);
    expect(told).toEqual([
      { digest: expect.stringMatching(/^[\w-]{22}$/), markS: START_S - 100, forMs: 86_300_000 },
    ]);
    expect(second.refuse('ada', START_S - 101)).toBe(true);
    expect(second.refuse('ada', START_S - 100)).toBe(false);
    expect(second.refuse('bob', START_S - 101)).toBe(false);
    expect(second.refuse(null, START_S - 101)).toBe(false);
  });

  it('only ever raises', () => {
    const { first, second, told } = pair();
    for (const markS of [START_S - 5, START_S - 9]) first.learn('ada', markS);
    expect(told).toHaveLength(1);
    second.adopt(told[0]?.digest ?? '', START_S - 20);
    expect(second.refuse('ada', START_S - 6)).toBe(true);
  });

  it('can be announced again by any gateway that knows it', () => {
    const { first, second } = pair();
    first.learn('ada', START_S);
    expect([...second.running()]).toEqual([...first.running()]);
    expect([...second.running()]).toHaveLength(1);
  });

  it('takes no more room than those learnt here', () => {
    const { first, second } = pair({ maxSubjects: 1 });
    first.learn('ada', START_S);
    first.learn('bob', START_S);
    expect([second.refuse('ada', 0), second.refuse('bob', 0), evictions]).toEqual([false, true, 1]);
  });
});
