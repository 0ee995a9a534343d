import { RateLimits, RATE_NAMES, DEFAULT_RATE_LIMITS } from './rate-limits.js';

describe('the variable RATE_LIMITS', () => {
  it('says as shipped what the documentation promises', () => {
    const { rules, callsInFlight } = RateLimits.parse(DEFAULT_RATE_LIMITS);
    expect(rules).toEqual({
      reads: { name: 'edge.reads', points: 600, perSeconds: 60 },
      writes: { name: 'edge.writes', points: 60, perSeconds: 60 },
      calls: { name: 'edge.calls', points: 3000, perSeconds: 60, burst: 300 },
      retries: { name: 'edge.retries', points: 3000, perSeconds: 60, burst: 300 },
      catalog: { name: 'edge.catalog', points: 300, perSeconds: 60 },
      health: { name: 'edge.health', points: 3000, perSeconds: 60, burst: 300 },
      challenges: { name: 'edge.challenges', points: 20, perSeconds: 60 },
      deliveries: { name: 'edge.deliveries', points: 30, perSeconds: 60 },
      registrations: { name: 'edge.registrations', points: 10, perSeconds: 3600 },
      refusals: { name: 'edge.refusals', points: 60, perSeconds: 60 },
    });
    expect(callsInFlight).toBe(100);
  });

  it('changes what it names and nothing else', () => {
    const { rules, callsInFlight } = RateLimits.parse('reads=5/1:2, calls-in-flight=1');
    expect([rules.reads, callsInFlight]).toEqual([{ name: 'edge.reads', points: 5, perSeconds: 1, burst: 2 }, 1]);
    for (const name of RATE_NAMES.filter((other) => other !== 'reads'))
      expect(rules[name]).toEqual(RateLimits.parse(DEFAULT_RATE_LIMITS).rules[name]);
  });

  it.each([
    '',
    'none',
    'reads',
    'reads=',
    'reads=1',
    'reads=0/60',
    'reads=-1/60',
    'reads=1/0',
    'reads=1.5/60',
    'reads=1e3/60',
    'reads=1/60/60',
    'reads=1/60:0',
    'reads=1/60:2:3',
    'reads=9999999/1',
    'lists=1/60',
    'calls-in-flight=0',
    'calls-in-flight=1/60',
    'reads=1/60,',
  ])('is refused as %p', (text) => {
    expect(() => RateLimits.parse(text)).toThrow();
  });
});
