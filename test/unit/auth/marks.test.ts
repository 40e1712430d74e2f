import { beforeEach, describe, expect, it } from 'vitest';
import { MARK_DEFAULTS, NotBeforeMarks } from '../../../src/auth/index.ts';
import { START_S } from './fixture.ts';

let nowS = START_S;
let evictions = 0;
const clock = { epochMs: () => nowS * 1_000, monotonicMs: () => 0 };

function marks(changed: Partial<typeof MARK_DEFAULTS> = {}): NotBeforeMarks {
  return new NotBeforeMarks({ ...MARK_DEFAULTS, ...changed }, clock, () => {
    evictions += 1;
  });
}

beforeEach(() => {
  nowS = START_S;
  evictions = 0;
});

describe('the mark of the issuer', () => {
  it('refuses what was issued before it, whoever the subject, and nothing issued in the same second', () => {
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

  it('is not lowered by an older answer', () => {
    const all = marks();
    all.learn('ada', START_S);
    all.learn('ada', START_S - 100);
    all.learn('ada', 0);
    expect(all.refuse('ada', START_S - 1)).toBe(true);
  });

  it('is raised by a newer answer', () => {
    const all = marks();
    all.learn('ada', START_S - 100);
    all.learn('ada', START_S);
    expect(all.refuse('ada', START_S - 1)).toBe(true);
    expect(all.size).toBe(1);
  });

  it.each([0, -1, Number.NaN])('is not learnt from %d', mark => {
    const all = marks();
    all.learn('ada', mark);
    expect(all.size).toBe(0);
  });

  it('is forgotten when a day has passed and no longer-lived token was seen', () => {
    const all = marks();
    all.learn('ada', START_S);
    nowS += 86_400;
    all.learn('bob', nowS);
    expect(all.size).toBe(2);
    nowS += 1;
    all.learn('eve', nowS);
    expect(all.size).toBe(2);
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

  it('gives way to a newer one past the bound, which is announced', () => {
    const all = marks({ maxSubjects: 100 });
    for (let i = 0; i < 150; i += 1) all.learn(`subject ${i}`, START_S);
    expect(all.size).toBe(100);
    expect(evictions).toBe(50);
    expect(all.refuse('subject 49', 0)).toBe(false);
    expect(all.refuse('subject 50', 0)).toBe(true);
  });
});
