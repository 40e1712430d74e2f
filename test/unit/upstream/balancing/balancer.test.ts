import { beforeEach, describe, expect, it } from 'vitest';
import { Balancer, type Candidate } from '../../../../src/upstream/balancing/balancer.ts';
import { textHash } from '../../../../src/upstream/balancing/caller-rank.ts';
import { Random } from '../../../support/random.ts';

class Stub implements Candidate {
  readonly name: string;
  readonly nameHash: number;
  weight: number;
  isOut = false;
  isBackup = false;
  inFlight = 0;
  part = 1;
  reviewAtMs = Number.POSITIVE_INFINITY;
  reviews = 0;

  constructor(name: string, weight = 1) {
    this.name = name;
    this.nameHash = textHash(name);
    this.weight = weight;
  }

  review(): number {
    this.reviews++;
    return this.reviewAtMs;
  }

  share(): number {
    return this.part;
  }

  load(): number {
    return this.inFlight;
  }
}

let balancer: Balancer<Stub>;

beforeEach(() => {
  const random = new Random(7);
  balancer = new Balancer(() => random.below(2 ** 30) / 2 ** 30);
});

const some = (...weights: number[]) => weights.map((weight, index) => new Stub(`10.0.0.${index}:80`, weight));

/** Draws many times. Returns how often each endpoint was chosen, as a part of all. */
function partsOf(endpoints: readonly Stub[], times = 20_000, tried: readonly Stub[] = []): number[] {
  const counts = new Map<Stub | null, number>();
  for (let i = 0; i < times; i++) {
    const chosen = balancer.choose(0, '', tried);
    counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
  }
  return endpoints.map(endpoint => (counts.get(endpoint) ?? 0) / times);
}

describe('by requests in flight', () => {
  it('idle endpoints are chosen by their weights', () => {
    const endpoints = some(1, 2, 5);
    balancer.use(endpoints, 'least_requests');
    const parts = partsOf(endpoints);
    for (const [index, part] of [0.125, 0.25, 0.625].entries()) expect(parts[index]).toBeCloseTo(part, 1);
  });

  it('of two drawn endpoints, the one with fewer requests for its weight is chosen', () => {
    const [one, two] = some(1, 3) as [Stub, Stub];
    balancer.use([one, two], 'least_requests');
    [one.inFlight, two.inFlight] = [2, 5];
    expect(partsOf([one, two], 100)).toEqual([0, 1]);
    two.inFlight = 7;
    expect(partsOf([one, two], 100)).toEqual([1, 0]);
  });

  it('the busiest endpoint of many is never chosen', () => {
    const endpoints = some(1, 1, 1, 1, 1);
    balancer.use(endpoints, 'least_requests');
    for (const [index, endpoint] of endpoints.entries()) endpoint.inFlight = index;
    const parts = partsOf(endpoints);
    expect(parts[4]).toBe(0);
    for (let i = 0; i < 4; i++) expect(parts[i]).toBeGreaterThan(parts[i + 1] ?? 0);
  });

  it('what is in flight evens out by weight', () => {
    const endpoints = some(1, 1, 2);
    balancer.use(endpoints, 'least_requests');
    for (let i = 0; i < 400; i++) {
      const chosen = balancer.choose(0, '', []);
      if (chosen !== null) chosen.inFlight++;
    }
    for (const [index, count] of [100, 100, 200].entries()) {
      expect(endpoints[index]?.inFlight).toBeGreaterThan(count - 6);
      expect(endpoints[index]?.inFlight).toBeLessThan(count + 6);
    }
  });

  it('both endpoints of a pair are compared, whichever chance draws first', () => {
    for (const chance of [0, 0.25, 0.5, 0.75, 0.999_999_9]) {
      const fixed = new Balancer<Stub>(() => chance);
      const [one, two] = some(1, 1) as [Stub, Stub];
      fixed.use([one, two], 'least_requests');
      one.inFlight = 1;
      expect(fixed.choose(0, '', [])).toBe(two);
    }
  });

  it('the second is drawn by weight among all but the first', () => {
    const chances: number[] = [];
    const fixed = new Balancer<Stub>(() => chances.shift() ?? 0);
    const endpoints = some(2, 1, 5);
    fixed.use(endpoints, 'least_requests');
    const [one, two, three] = endpoints as [Stub, Stub, Stub];
    two.inFlight = 9;
    // The second endpoint covers the third of eight parts, so that seven are left for the others.
    for (const [chance, other] of [
      [0, one],
      [1.9 / 7, one],
      [2.1 / 7, three],
      [6.9 / 7, three],
    ] as const) {
      chances.push(2.5 / 8, chance);
      expect(fixed.choose(0, '', [])).toBe(other);
    }
  });

  it('an endpoint that comes back gets its part by and by', () => {
    const endpoints = some(1, 1);
    (endpoints[0] as Stub).part = 0.1;
    balancer.use(endpoints, 'least_requests');
    expect(partsOf(endpoints)[0]).toBeCloseTo(0.09, 1);
  });
});

describe('by caller', () => {
  const callers = Array.from({ length: 2_000 }, (_, index) => `client\u0000user-${index}`);
  const placesOf = () => callers.map(caller => balancer.choose(0, caller, []));
  const partAt = (places: readonly (Stub | null)[], endpoint: Stub | undefined) =>
    places.filter(place => place === endpoint).length / places.length;

  it('each caller stays at one endpoint, whatever is in flight', () => {
    const endpoints = some(1, 1, 1);
    balancer.use(endpoints, 'caller');
    const places = placesOf();
    for (const endpoint of endpoints) endpoint.inFlight += endpoints.indexOf(endpoint) * 50;
    expect(placesOf()).toEqual(places);
  });

  it('callers are at the same endpoint in every gateway, whatever order the endpoints come in', () => {
    const endpoints = some(1, 1, 1);
    balancer.use(endpoints, 'caller');
    const places = placesOf();
    balancer = new Balancer(() => 0.3);
    balancer.use(endpoints.toReversed(), 'caller');
    expect(placesOf()).toEqual(places);
  });

  it('a caller is at the endpoint where it was in earlier releases', () => {
    balancer.use(some(1, 1, 1), 'caller');
    const places = ['alice', 'bob', 'carol', '192.0.2.1', '2001:db8::/64'];
    expect(places.map(caller => balancer.choose(0, caller, [])?.name.slice(0, 8))).toMatchInlineSnapshot(`
      [
        "10.0.0.1",
        "10.0.0.1",
        "10.0.0.0",
        "10.0.0.2",
        "10.0.0.2",
      ]
    `);
  });

  it('callers are spread by weight', () => {
    const endpoints = some(1, 1, 2);
    balancer.use(endpoints, 'caller');
    const places = placesOf();
    for (const [index, part] of [0.25, 0.25, 0.5].entries())
      expect(Math.abs(partAt(places, endpoints[index]) - part)).toBeLessThan(0.04);
  });

  it('only callers of an endpoint that is out move, and they come back to it', () => {
    const endpoints = some(1, 1, 1);
    balancer.use(endpoints, 'caller');
    const before = placesOf();
    const [gone] = endpoints as [Stub];
    gone.isOut = true;
    balancer.changed();
    const meanwhile = placesOf();
    for (const [index, place] of before.entries()) {
      if (place === gone) expect(meanwhile[index]).not.toBe(gone);
      else expect(meanwhile[index]).toBe(place);
    }
    gone.isOut = false;
    balancer.changed();
    expect(placesOf()).toEqual(before);
  });

  it('an endpoint that is added takes callers from all others, and moves no other', () => {
    const endpoints = some(1, 1, 1, 1);
    const added = endpoints[3] as Stub;
    balancer.use(endpoints.slice(0, 3), 'caller');
    const before = placesOf();
    balancer.use(endpoints, 'caller');
    const places = placesOf();
    for (const [index, place] of places.entries()) if (place !== added) expect(place).toBe(before[index]);
    expect(Math.abs(partAt(places, added) - 0.25)).toBeLessThan(0.04);
  });
});

describe('in either way', () => {
  it('endpoints that are out are not used', () => {
    const endpoints = some(1, 1, 1);
    (endpoints[1] as Stub).isOut = true;
    balancer.use(endpoints, 'least_requests');
    expect(partsOf(endpoints)[1]).toBe(0);
    expect(balancer.allOut(0)).toBe(false);
  });

  it('all endpoints are used where all are out', () => {
    const endpoints = some(1, 1, 1);
    for (const endpoint of endpoints) endpoint.isOut = true;
    balancer.use(endpoints, 'least_requests');
    for (const part of partsOf(endpoints)) expect(part).toBeGreaterThan(0.3);
    expect(balancer.allOut(0)).toBe(true);
  });

  it('no more than half of the endpoints may be ejected', () => {
    const most = [1, 2, 3, 4, 5].map(count => {
      const endpoints = some(...new Array<number>(count).fill(1));
      balancer.use(endpoints, 'least_requests');
      for (const endpoint of endpoints) if (balancer.mayEject()) endpoint.isOut = true;
      return endpoints.filter(({ isOut }) => isOut).length;
    });
    expect(most).toEqual([0, 1, 1, 2, 2]);
  });

  it('a retry goes to an endpoint that was not tried, one that is out at worst', () => {
    const [one, two, three] = some(1, 1, 1) as [Stub, Stub, Stub];
    balancer.use([one, two, three], 'least_requests');
    expect(partsOf([one, two, three], 1_000, [one])[0]).toBe(0);
    three.isOut = true;
    balancer.changed();
    expect(partsOf([one, two, three], 100, [one])).toEqual([0, 1, 0]);
    expect(balancer.choose(0, '', [one, two])).toBe(three);
    expect(balancer.choose(0, '', [one, two, three])).toBeNull();
  });

  it('there is nothing to choose where there is no endpoint', () => {
    expect(balancer.choose(0, '', [])).toBeNull();
    balancer.use([], 'caller');
    expect(balancer.choose(0, '', [])).toBeNull();
    expect(balancer.allOut(0)).toBe(false);
  });

  it('endpoints are looked at again only when one of them asks for it, or has changed', () => {
    const endpoints = some(1, 1);
    const [first] = endpoints as [Stub];
    balancer.use(endpoints, 'least_requests');
    first.reviewAtMs = 500;
    for (let i = 0; i < 10; i++) balancer.choose(499, '', []);
    expect(first.reviews).toBe(1);
    balancer.choose(500, '', []);
    expect(first.reviews).toBe(2);
  });
});

describe('a backup', () => {
  const withBackups = () => {
    const endpoints = some(1, 1, 1, 1) as [Stub, Stub, Stub, Stub];
    for (const backup of endpoints.slice(2)) backup.isBackup = true;
    balancer.use(endpoints, 'least_requests');
    return endpoints;
  };

  it.each(['least_requests', 'caller'] as const)('gets nothing while another is healthy (%s)', balance => {
    const endpoints = withBackups();
    balancer.use(endpoints, balance);
    const chosen = new Set(Array.from({ length: 200 }, (_, i) => balancer.choose(0, `caller ${i}`, [])));
    expect(chosen).toEqual(new Set(endpoints.slice(0, 2)));
    endpoints[0].isOut = true;
    balancer.changed();
    expect(balancer.choose(0, 'a', [])).toBe(endpoints[1]);
  });

  it('gets all once none of the others is healthy, until one is again', () => {
    const endpoints = withBackups();
    endpoints[0].isOut = true;
    endpoints[1].isOut = true;
    balancer.changed();
    expect(partsOf(endpoints, 200).slice(0, 2)).toEqual([0, 0]);
    endpoints[2].isOut = true;
    balancer.changed();
    expect(balancer.choose(0, '', [])).toBe(endpoints[3]);
    endpoints[1].isOut = false;
    balancer.changed();
    expect(balancer.choose(0, '', [])).toBe(endpoints[1]);
  });

  it('is one of all where every one is out', () => {
    const endpoints = withBackups();
    for (const endpoint of endpoints) endpoint.isOut = true;
    balancer.changed();
    expect(Math.min(...partsOf(endpoints, 200))).toBeGreaterThan(0);
  });

  it('is where a request goes that failed at all others', () => {
    const endpoints = withBackups();
    const next = balancer.choose(0, '', endpoints.slice(0, 2));
    expect(next?.isBackup).toBe(true);
    expect(balancer.choose(0, '', endpoints.slice(0, 1))).toBe(endpoints[1]);
  });

  it('lets all others be ejected while it is healthy, and itself be ejected as ever', () => {
    const endpoints = withBackups();
    for (const endpoint of endpoints.slice(0, 2)) {
      expect(balancer.mayEject(endpoint)).toBe(true);
      endpoint.isOut = true;
    }
    expect(balancer.mayEject(endpoints[2])).toBe(false);
    endpoints[2].isOut = true;
    endpoints[3].isOut = true;
    expect(balancer.mayEject(endpoints[0])).toBe(false);
  });
});
