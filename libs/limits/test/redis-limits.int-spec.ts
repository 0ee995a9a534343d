import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describeNeeding, eventually, startRedisServer, type RedisServer } from '@market/testing';
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RedisLimits, type LimitRule, type LimitResult, type Permit } from '../src/index.js';

/** Adds one token in 10 s, so that within a test only the tokens of a full bucket are available. */
const slow: LimitRule = { name: 'slow', points: 360, perSeconds: 3600, burst: 20 };

describeNeeding('redis-server')('RedisLimits', () => {
  let server: RedisServer;
  let admin: Redis;
  let processes: RedisLimits[];
  let log: string[];
  let keys = 0;
  const newKey = (): string => `key ${++keys}`;

  beforeAll(async () => {
    server = await startRedisServer();
    admin = new Redis(server.url, { retryStrategy: () => 50, maxRetriesPerRequest: null });
    admin.on('error', () => undefined);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  beforeEach(async () => {
    log = [];
    // What other tests of this process left behind may log, too.
    const take = (line: string, context: string) => context === 'Limits' && log.push(line);
    Logger.overrideLogger({ log: take, warn: take, error: take });
    processes = [new RedisLimits(server.url), new RedisLimits(server.url)];
    for (const limits of processes) await untilShared(limits);
    log.length = 0;
  });
  afterEach(() => {
    processes.forEach((limits) => limits.onApplicationShutdown());
    Logger.overrideLogger(false);
  });

  /** Waits until the limits count in Redis, which shows in a bucket that only Redis has. */
  const untilShared = (limits: RedisLimits): Promise<void> =>
    eventually(async () => {
      const key = newKey();
      await limits.consume(slow, key);
      expect(await admin.exists(`limits:slow:${key}`)).toBe(1);
    });
  const allowedOf = (verdicts: LimitResult[]): number => verdicts.filter(({ allowed }) => allowed).length;
  const ask = (times: number, key: string, limits = processes): Promise<LimitResult[]> =>
    Promise.all(Array.from({ length: times }, (_, n) => limits[n % limits.length]!.consume(slow, key)));
  /** The mean time of `times` requests, one after the other; each would wait 150 ms for a Redis that is silent. */
  const meanMsOf = async (times: number, key: string): Promise<number> => {
    const startedAt = performance.now();
    for (let n = 0; n < times; n++) await processes[n % 2]!.consume(slow, key);
    return (performance.now() - startedAt) / times;
  };

  it('counts for all processes together, to the token', async () => {
    const key = newKey();
    expect(allowedOf(await ask(200, key))).toBe(20);
    expect(await processes[0]!.consume(slow, key)).toMatchObject({
      allowed: false,
      limit: 20,
      remaining: 0,
      resetSeconds: 200,
    });
    const ttl = await admin.pttl(`limits:slow:${key}`);
    expect(ttl).toBeGreaterThan(190_000);
    expect(ttl).toBeLessThanOrEqual(200_000);
  });

  it('fills as time passes, by the clock of Redis', async () => {
    const quick: LimitRule = { name: 'quick', points: 20, perSeconds: 1, burst: 2 };
    const key = newKey();
    const startedAt = performance.now();
    let allowed = 0;
    while (allowed < 20) {
      allowed += allowedOf(await Promise.all(processes.map((limits) => limits.consume(quick, key))));
      await delay(5);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    expect(allowed).toBeLessThanOrEqual(2 + Math.ceil(20 * seconds));
  });

  it('counts in Redis through a moment in which this process was too busy to read its answers', async () => {
    const key = newKey();
    const verdicts = ask(60, key);
    const busyUntil = performance.now() + 300;
    while (performance.now() < busyUntil);
    expect(allowedOf(await verdicts)).toBe(20);
    expect(log).toEqual([]);
  });

  it('is connected once its module is initialised, and does not wait for a Redis that is away', async () => {
    const key = newKey();
    const limits = new RedisLimits(server.url);
    const alone = new RedisLimits('redis://127.0.0.1:1');
    try {
      await limits.onModuleInit();
      await limits.consume(slow, key);
      expect(await admin.exists(`limits:slow:${key}`)).toBe(1);
      const startedAt = performance.now();
      await alone.onModuleInit();
      expect(performance.now() - startedAt).toBeLessThan(2_000);
    } finally {
      limits.onApplicationShutdown();
      alone.onApplicationShutdown();
    }
  });

  it('leaves what it refused in the bucket', async () => {
    const key = newKey();
    expect(await processes[0]!.consume(slow, key, 15)).toMatchObject({ allowed: true, remaining: 5 });
    expect(await processes[1]!.consume(slow, key, 6)).toMatchObject({
      allowed: false,
      remaining: 5,
      retryAfterSeconds: 10,
    });
    expect(await processes[1]!.consume(slow, key, 5)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('asks Redis no more about a caller that has used up its own', async () => {
    const key = newKey();
    await ask(40, key);
    await admin.config('RESETSTAT');
    await ask(100, key);
    expect(await admin.info('commandstats')).not.toContain('cmdstat_evalsha');
  });

  it('looks into a bucket without asking Redis, and knows what others took once it took something itself', async () => {
    const [mine, others] = processes as [RedisLimits, RedisLimits];
    const key = newKey();
    await others.consume(slow, key, 15);
    await admin.config('RESETSTAT');
    expect(mine.peek(slow, key).remaining).toBe(20);
    expect(await admin.info('commandstats')).not.toContain('cmdstat_evalsha');
    await mine.consume(slow, key);
    expect(mine.peek(slow, key).remaining).toBe(4);
    expect(others.peek(slow, key).remaining).toBe(5);
  });

  it('goes on from what it knew when Redis is killed, and counts in Redis when it is there again', async () => {
    const key = newKey();
    expect(allowedOf(await ask(10, key))).toBe(10);
    await server.kill();
    // Each of the two processes counts separately and allows what it knew to be left, so the sum is below twice the
    // limit.
    expect(10 + allowedOf(await ask(100, key))).toBeLessThan(2 * 20);
    expect(allowedOf(await ask(100, key))).toBe(0);
    expect(await meanMsOf(50, newKey())).toBeLessThan(100);
    await server.restart();
    for (const limits of processes) await untilShared(limits);
    expect(allowedOf(await ask(100, key))).toBe(0);
    expect(log).toHaveLength(4);
    expect(log.slice(0, 2)).toEqual([
      expect.stringContaining('Redis is away'),
      expect.stringContaining('Redis is away'),
    ]);
    expect(log.slice(2)).toEqual([
      'Redis is back; processes count together',
      'Redis is back; processes count together',
    ]);
  });

  it('allows no process more for a Redis that was flushed', async () => {
    const key = newKey();
    expect(allowedOf(await ask(12, key))).toBe(12);
    await admin.flushall();
    expect(allowedOf(await ask(100, key))).toBeLessThanOrEqual(20);
    expect(log).toEqual([]);
  });

  it('never allows more than twice the limit through kills, flushes and stops of Redis', async () => {
    const key = newKey();
    let allowed = 0;
    let over = false;
    const caller = (async () => {
      while (!over) {
        allowed += allowedOf(await ask(4, key));
        await delay(2);
      }
    })();
    for (let round = 0; round < 3; round++) {
      await server.kill();
      await delay(30);
      await server.restart();
      for (const limits of processes) await untilShared(limits);
      await admin.flushall();
      await delay(30);
    }
    over = true;
    await caller;
    expect(allowed).toBeGreaterThanOrEqual(20);
    expect(allowed).toBeLessThanOrEqual(2 * 20);
  });

  it('waits 150 ms at most, and once, for a Redis that was stopped in the middle', async () => {
    const pid = Number(/process_id:(\d+)/.exec(await admin.info('server'))![1]);
    process.kill(pid, 'SIGSTOP');
    try {
      const key = newKey();
      const startedAt = performance.now();
      expect(allowedOf(await ask(100, key))).toBe(40);
      expect(performance.now() - startedAt).toBeLessThan(2_000);
      expect(await meanMsOf(50, newKey())).toBeLessThan(100);
      await delay(1_500);
      expect(await meanMsOf(50, newKey())).toBeLessThan(100);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    for (const limits of processes) await untilShared(limits);
    expect(log.filter((line) => line.includes('away'))).toHaveLength(2);
    expect(log.filter((line) => line.includes('back'))).toHaveLength(2);
  });

  it.each(['99999999999999999', 'inf'])(
    'fills again where a clock was set back, or %s is kept for another reason',
    async (instant) => {
      const quick: LimitRule = { name: 'quick', points: 20, perSeconds: 1, burst: 4 };
      const key = newKey();
      await admin.set(`limits:quick:${key}`, instant);
      expect(await processes[0]!.consume(quick, key)).toEqual({
        allowed: false,
        limit: 4,
        remaining: 0,
        retryAfterSeconds: 1,
        resetSeconds: 1,
      });
      await eventually(async () => expect((await processes[1]!.consume(quick, key)).allowed).toBe(true));
    },
  );

  it.each([
    ['a list', (key: string) => admin.rpush(key, 'x')],
    ['a text', (key: string) => admin.set(key, 'soon')],
    ['not a number', (key: string) => admin.set(key, 'nan')],
  ])('answers as ever, and mends it, where %s is kept under its key', async (_what, keep) => {
    const key = newKey();
    await keep(`limits:slow:${key}`);
    expect(await ask(1, key)).toEqual([
      { allowed: true, limit: 20, remaining: 19, retryAfterSeconds: 0, resetSeconds: 10 },
    ]);
    expect(log).toEqual([]);
  });

  it('counts for itself while Redis only refuses, and says so once', async () => {
    await admin.config('SET', 'maxmemory', '1');
    const key = newKey();
    const verdicts: LimitResult[] = [];
    for (let n = 0; n < 30; n++) {
      verdicts.push(...(await ask(2, key, [processes[0]!])));
      await delay(40);
    }
    expect(allowedOf(verdicts)).toBe(20);
    await admin.config('SET', 'maxmemory', '0');
    await untilShared(processes[0]!);
    expect(log).toEqual([expect.stringContaining('OOM'), 'Redis is back; processes count together']);
  });

  describe('and permits', () => {
    const MAX = 4;
    const acquire = async (key: string, times = 3 * MAX): Promise<Permit[]> =>
      (
        await Promise.all(
          Array.from({ length: times }, (_, n) => processes[n % processes.length]!.acquire('calls', key, MAX)),
        )
      ).filter((permit) => permit !== null);
    const keptOf = (key: string): Promise<number> => admin.zcard(`limits:permits:calls:${key}`);

    it('are held by all processes together, and come free when they are released, in one round trip and none', async () => {
      const key = newKey();
      const permits = await acquire(key);
      expect(permits).toHaveLength(MAX);
      expect(await acquire(key)).toEqual([]);
      permits.forEach((permit) => permit.release());
      permits[0]!.release();
      await eventually(async () => expect(await keptOf(key)).toBe(0));
      await admin.config('RESETSTAT');
      expect(await acquire(key, 2)).toHaveLength(2);
      expect(await admin.info('commandstats')).toMatch(/cmdstat_evalsha:calls=2,/);
    });

    it('of a process that was killed come free within seconds, those of one that lives do not', async () => {
      const key = newKey();
      const [living, killed] = [processes[0]!, processes.pop()!];
      const held = await Promise.all([killed, killed, living].map((process) => process.acquire('calls', key, MAX)));
      expect(held).not.toContain(null);
      // Simulates a killed process, which sends nothing any more.
      killed.onApplicationShutdown();
      let taken = 1;
      await eventually(
        async () => {
          if (await living.acquire('calls', key, MAX)) taken += 1;
          expect(taken).toBe(MAX);
        },
        { withinMs: 4_500 },
      );
      await delay(3_500);
      expect([await acquire(key), await keptOf(key)]).toEqual([[], MAX]);
    });

    it('are counted by each process for itself while Redis is gone, and together again with those held when it is back', async () => {
      const key = newKey();
      const before = await acquire(key, 2);
      await server.kill();
      const during = await acquire(key);
      expect(before.length + during.length).toBe(2 * MAX);
      await server.restart();
      await eventually(async () => expect(await keptOf(key)).toBe(2 * MAX));
      [...before, ...during].slice(MAX).forEach((permit) => permit.release());
      await eventually(async () => expect(await keptOf(key)).toBe(MAX));
      expect(await acquire(key)).toEqual([]);
    });

    it('are given back by a process that did not wait for the late answer that it has them', async () => {
      const key = newKey();
      await processes[0]!.acquire('calls', `${key} held`, MAX);
      const pid = Number(/process_id:(\d+)/.exec(await admin.info('server'))![1]);
      process.kill(pid, 'SIGSTOP');
      try {
        for (const permit of await acquire(key, MAX)) permit.release();
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      // Redis keeps the permits of a process that sends nothing any more for three seconds.
      await eventually(async () => expect(await keptOf(key)).toBe(MAX), { withinMs: 400 });
      await eventually(async () => expect(await keptOf(key)).toBe(0), { withinMs: 1_500 });
      expect(await keptOf(`${key} held`)).toBe(1);
    });

    it('are counted where something else, or a time that no permit can have, is kept under their key', async () => {
      const [text, late] = [newKey(), newKey()];
      await admin.set(`limits:permits:calls:${text}`, 'soon');
      await admin.zadd(
        `limits:permits:calls:${late}`,
        ...Array.from({ length: MAX }, (_, n) => [9e15, `dead ${n}`]).flat(),
      );
      expect([await acquire(text), await acquire(late)].map(({ length }) => length)).toEqual([MAX, MAX]);
      expect(log).toEqual([]);
    });
  });

  it('puts back what was taken for nothing, for all processes', async () => {
    const key = newKey();
    await ask(20, key);
    processes[0]!.putBack(slow, key);
    await eventually(async () => expect(allowedOf(await ask(1, key))).toBe(1));
    expect(allowedOf(await ask(20, key))).toBe(0);
  });

  describe('in front of something that is no Redis', () => {
    const listen = async (answer: (socket: Socket) => void): Promise<{ url: string; close: () => Promise<void> }> => {
      const sockets = new Set<Socket>();
      const fakeServer = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => undefined);
        answer(socket);
      }).listen(0, '127.0.0.1');
      await once(fakeServer, 'listening');
      return {
        url: `redis://127.0.0.1:${(fakeServer.address() as AddressInfo).port}`,
        close: async () => {
          sockets.forEach((socket) => socket.destroy());
          fakeServer.close();
          await once(fakeServer, 'close');
        },
      };
    };
    const INFO = '# Server\r\nloading:0\r\n';
    const ready = `$${INFO.length}\r\n${INFO}\r\n`;

    it.each([
      [
        'a web page',
        (socket: Socket) => void socket.on('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
      ],
      ['nothing', () => undefined],
      ['the end of the connection', (socket: Socket) => void socket.end()],
      [
        'other shapes',
        (socket: Socket) =>
          void socket.on('data', (data) => socket.write(/info/i.test(String(data)) ? ready : '*1\r\n$4\r\nfull\r\n')),
      ],
      [
        'numbers beyond all reason',
        (socket: Socket) =>
          void socket.on('data', (data) => socket.write(/info/i.test(String(data)) ? ready : '*2\r\n:7\r\n:-5\r\n')),
      ],
    ])('counts for itself when it answers %s', async (_what, answer) => {
      const fakeServer = await listen(answer);
      const limits = new RedisLimits(fakeServer.url);
      try {
        let allowed = 0;
        for (let n = 0; n < 40; n++) {
          const startedAt = performance.now();
          allowed += allowedOf([await limits.consume(slow, 'key')]);
          expect(performance.now() - startedAt).toBeLessThan(2_000);
          await delay(20);
        }
        expect(allowed).toBe(20);
        expect(log.filter((line) => line.includes('back'))).toEqual([]);
      } finally {
        limits.onApplicationShutdown();
        await fakeServer.close();
      }
    });
  });
});
