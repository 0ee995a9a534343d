import { newId } from '@market/kernel';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Redis, type Result } from 'ioredis';
import { once } from 'node:events';
import { Gauge } from 'prom-client';
import { z } from 'zod';
import { Limits, type LimitRule, type LimitResult, type Permit } from './limits.js';
import { MemoryLimits } from './memory-limits.js';
import { bucketOf, resultOf } from './token-bucket.js';

/** The maximum time that a request waits for Redis. */
const COMMAND_TIMEOUT_MS = 100;
const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_INTERVAL_MS = 500;
/** The permits of a killed process become free after this time. A running process renews its permits. */
const PERMIT_TTL_MS = 3_000;
const RENEW_INTERVAL_MS = 1_000;

/**
 * `MemoryLimits.take` in Redis, by the clock of Redis. A value of another kind under the key is replaced. A time that
 * is impossible for this rule (after a clock was set back or the rule was made smaller) counts as an empty bucket, so
 * that the bucket fills again. Numbers are formatted by `%.0f`, because Lua's own conversion keeps 14 digits and a time
 * has 16.
 */
const takeTokens = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local span, need = tonumber(ARGV[1]), tonumber(ARGV[2])
local stored = redis.pcall('GET', KEYS[1])
local fullAt = type(stored) == 'string' and tonumber(stored) or 0
if not (fullAt > now) then fullAt = now end
local lack = math.min(fullAt - now, span)
local allowed = lack + need <= span
local after = allowed and math.max(0, lack + need) or lack
if now + after ~= fullAt then
  redis.call('SET', KEYS[1], string.format('%.0f', now + after), 'PX', string.format('%.0f', math.ceil(after / 1000)))
end
return {allowed and 1 or 0, after}`;

/**
 * Permits are members of a sorted set. The score of a permit is its expiry by the clock of Redis. Takes the given
 * permits if fewer than the maximum are held. A value of another kind under the key is replaced, and a permit with an
 * impossible score (after a clock was set back) counts as expired.
 */
const takePermits = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local max, life = tonumber(ARGV[1]), tonumber(ARGV[2])
if redis.call('TYPE', KEYS[1]).ok ~= 'zset' then redis.call('DEL', KEYS[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. now + life, '+inf')
if redis.call('ZCARD', KEYS[1]) >= max then return 0 end
for n = 3, #ARGV do redis.call('ZADD', KEYS[1], now + life, ARGV[n]) end
redis.call('PEXPIRE', KEYS[1], life)
return 1`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    takeTokens(key: string, spanMicros: number, needMicros: number): Result<unknown, Context>;
    takePermits(key: string, max: number, lifeMs: number, ...ids: string[]): Result<unknown, Context>;
  }
}

const open = new Set<{ isConnected: boolean }>();

new Gauge({
  name: 'market_redis_up',
  help: 'Whether this process has its connections to Redis; absent where none is configured',
  collect() {
    this.reset();
    if (open.size > 0) this.set([...open].every(({ isConnected }) => isConnected) ? 1 : 0);
    else this.remove();
  },
});

const isTaken = z.union([z.literal(0), z.literal(1)]).transform(Boolean);
const answerSchema = z.tuple([z.union([z.literal(0), z.literal(1)]), z.int().nonnegative()]);

/**
 * Counts in Redis for all processes together, and also in this process. This process asks Redis only if its own count
 * allows the request, and the answer of Redis updates that count. If Redis is unavailable, slow, empty or returns
 * invalid answers, this process continues to count from its last state. A request waits at most 100 ms for Redis, and
 * not at all while there is no connection; a connection that timed out is closed and opened again. Permits are counted
 * the same way. Each process renews its permits in Redis repeatedly, so that Redis records permits that it missed and
 * drops those of a killed process.
 */
export class RedisLimits extends Limits implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Limits');
  private readonly own = new MemoryLimits();
  private readonly redis: Redis;
  /** The permits that this process holds. */
  private readonly held = new Map<string, Set<string>>();
  /**
   * The permits that were held when a connection was lost. A command that had timed out may still reach Redis later.
   */
  private uncertain: { key: string; id: string }[] = [];
  private readonly renewal = setInterval(() => this.renew(), RENEW_INTERVAL_MS).unref();
  isConnected = false;
  private isUnavailable = false;

  constructor(url: string) {
    super();
    open.add(this);
    this.redis = new Redis(url, {
      scripts: { takeTokens: { numberOfKeys: 1, lua: takeTokens }, takePermits: { numberOfKeys: 1, lua: takePermits } },
      keyPrefix: 'limits:',
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: CONNECT_TIMEOUT_MS,
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: COMMAND_TIMEOUT_MS,
      retryStrategy: () => RECONNECT_INTERVAL_MS,
      disableClientInfo: true,
    });
    this.redis.on('ready', () => this.connected());
    this.redis.on('close', () => this.disconnected());
    this.redis.on('error', (error: Error) => this.lost(error));
    this.redis.on('reconnecting', () => this.lost(new Error('the connection was closed')));
  }

  /** Waits for the first connection, so that the first requests are counted together too; not if Redis is away. */
  async onModuleInit(): Promise<void> {
    const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    // `once` rejects at an error of the connection, which the constructor's handler reports.
    if (!this.isConnected && !this.isUnavailable)
      await once(this.redis, 'ready', { signal: timeout }).catch(() => undefined);
  }

  async consume(rule: LimitRule, key: string, cost = 1): Promise<LimitResult> {
    const own = this.own.take(rule, key, cost);
    if (!own.allowed || !this.isConnected) return own;
    const bucket = bucketOf(rule);
    let answer: z.output<typeof answerSchema>;
    try {
      answer = answerSchema.parse(
        await inTime(this.redis.takeTokens(`${rule.name}:${key}`, bucket.spanMicros, cost * bucket.tokenMicros)),
      );
    } catch (error) {
      this.failed(error as Error);
      return own;
    }
    this.found();
    const allowed = answer[0] === 1;
    const lackMicros = Math.min(answer[1], bucket.spanMicros);
    if (!allowed) this.own.putBack(rule, key, cost);
    this.own.lackAtLeast(rule, key, lackMicros);
    return resultOf(bucket, allowed, lackMicros, cost);
  }

  /**
   * Each answer of Redis updates the count of this process, so it includes what other processes took before its own
   * last request.
   */
  peek(rule: LimitRule, key: string): LimitResult {
    return this.own.peek(rule, key);
  }

  putBack(rule: LimitRule, key: string, cost = 1): void {
    this.own.putBack(rule, key, cost);
    const { spanMicros, tokenMicros } = bucketOf(rule);
    if (this.isConnected)
      inTime(this.redis.takeTokens(`${rule.name}:${key}`, spanMicros, -cost * tokenMicros)).catch((error: Error) =>
        this.failed(error),
      );
  }

  async acquire(name: string, key: string, max: number): Promise<Permit | null> {
    const own = this.own.takePermit(name, key, max);
    if (!own) return null;
    const permit = this.hold(`permits:${name}:${key}`, own);
    if (!this.isConnected) return permit;
    try {
      const taken = isTaken.parse(await inTime(this.redis.takePermits(permit.key, max, PERMIT_TTL_MS, permit.id)));
      this.found();
      if (taken) return permit;
      permit.release();
      return null;
    } catch (error) {
      this.failed(error as Error);
      return permit;
    }
  }

  onApplicationShutdown(): void {
    open.delete(this);
    clearInterval(this.renewal);
    this.redis.disconnect();
  }

  private hold(key: string, own: Permit): Permit & { key: string; id: string } {
    const id = newId();
    const ids = this.held.get(key) ?? new Set();
    this.held.set(key, ids.add(id));
    const release = (): void => {
      own.release();
      if (!ids.delete(id)) return;
      if (ids.size === 0) this.held.delete(key);
      this.removePermit(key, id);
    };
    return { key, id, release };
  }

  private removePermit(key: string, id: string): void {
    if (this.isConnected) inTime(this.redis.zrem(key, id)).catch((error: Error) => this.failed(error));
  }

  /** Removes the permits that were released without a connection. Redis has executed all earlier commands by now. */
  private connected(): void {
    this.isConnected = true;
    for (const { key, id } of this.uncertain) if (!this.held.get(key)?.has(id)) this.removePermit(key, id);
    this.uncertain = [];
  }

  private disconnected(): void {
    if (!this.isConnected) return;
    this.isConnected = false;
    this.uncertain = [...this.held].flatMap(([key, ids]) => [...ids].map((id) => ({ key, id })));
  }

  private renew(): void {
    if (!this.isConnected) return;
    for (const [key, ids] of this.held)
      inTime(this.redis.takePermits(key, Number.MAX_SAFE_INTEGER, PERMIT_TTL_MS, ...ids)).catch((error: Error) =>
        this.failed(error),
      );
  }

  private failed(error: Error): void {
    this.lost(error);
    if (!this.isConnected) return;
    this.disconnected();
    this.redis.disconnect(true);
  }

  private lost(error: Error): void {
    if (this.isUnavailable) return;
    this.isUnavailable = true;
    this.logger.warn(`Redis is away (${error.message}); each process counts for itself`);
  }

  /** Redis counts as available after an answer, not after a connection, because it may refuse commands. */
  private found(): void {
    if (!this.isUnavailable) return;
    this.isUnavailable = false;
    this.logger.log('Redis is back; processes count together');
  }
}

/**
 * Waits at most `COMMAND_TIMEOUT_MS` for Redis. ioredis' own timeout also counts the time in which this process did not
 * read what had arrived: after a busy moment, timers run before sockets are read. So when the time is over, what has
 * arrived is read first.
 */
async function inTime<T>(command: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(new Error('Command timed out'))), COMMAND_TIMEOUT_MS);
  });
  return Promise.race([command, timeout]).finally(() => clearTimeout(timer));
}
