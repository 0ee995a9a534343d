import { newId } from '@market/kernel';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Redis, type Result } from 'ioredis';
import { z } from 'zod';
import { Limits, type LimitRule, type LimitResult, type Permit } from './limits.js';
import { MemoryLimits } from './memory-limits.js';
import { bucketOf, resultOf } from './token-bucket.js';

/** The longest time that a request waits for Redis. */
const COMMAND_TIMEOUT_MS = 100;
const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_INTERVAL_MS = 500;
/** The permits of a killed process become free after this time. A running process renews its own. */
const PERMIT_TTL_MS = 3_000;
const RENEW_INTERVAL_MS = 1_000;

/**
 * `MemoryLimits.take` in Redis, by the clock of Redis. Whatever else is kept under the key is replaced, and an instant that
 * no bucket of this rule can have (a clock set back, a rule made smaller) counts as empty rather than as never full again.
 * Numbers are written by `%.0f`, since Lua's own conversion keeps 14 digits and an instant has 16.
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
 * Permits are the members of a sorted set, each until its score by the clock of Redis. Takes those named where fewer than the
 * most are held. Whatever else is kept under the key is replaced, and a score that no permit can have (a clock set back) is over.
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

const isTaken = z.union([z.literal(0), z.literal(1)]).transform(Boolean);
const answerSchema = z.tuple([z.union([z.literal(0), z.literal(1)]), z.int().nonnegative()]);

/**
 * Counts in Redis, for all processes together, and in this process beside it. Redis is asked only for what this process'
 * own count allows, and its answer raises that count; so when Redis is gone, slow, empty or answers nonsense, counting
 * goes on in this process from what it last knew. A request waits for it 100 ms at most, and not at all while there is no
 * connection: one that let a request wait is closed and opened anew. Permits are counted the same way; those held are named
 * to Redis again and again, so that it learns of those that it missed, and forgets those of a process that was killed.
 */
export class RedisLimits extends Limits implements OnApplicationShutdown {
  private readonly logger = new Logger('Limits');
  private readonly own = new MemoryLimits();
  private readonly redis: Redis;
  /** The permits that this process holds. */
  private readonly held = new Map<string, Set<string>>();
  /** Those that it held when a connection was lost. Redis may learn of them late, from a question that nobody waited for any more. */
  private uncertain: { key: string; id: string }[] = [];
  private readonly renewal = setInterval(() => this.renew(), RENEW_INTERVAL_MS).unref();
  private isConnected = false;
  private isUnavailable = false;

  constructor(url: string) {
    super();
    this.redis = new Redis(url, {
      scripts: { takeTokens: { numberOfKeys: 1, lua: takeTokens }, takePermits: { numberOfKeys: 1, lua: takePermits } },
      keyPrefix: 'limits:',
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: COMMAND_TIMEOUT_MS,
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

  async consume(rule: LimitRule, key: string, cost = 1): Promise<LimitResult> {
    const own = this.own.take(rule, key, cost);
    if (!own.allowed || !this.isConnected) return own;
    const bucket = bucketOf(rule);
    let answer: z.output<typeof answerSchema>;
    try {
      answer = answerSchema.parse(
        await this.redis.takeTokens(`${rule.name}:${key}`, bucket.spanMicros, cost * bucket.tokenMicros),
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

  /** Each answer of Redis raises this process' own count, so it knows of what others took as soon as it takes something itself. */
  peek(rule: LimitRule, key: string): LimitResult {
    return this.own.peek(rule, key);
  }

  putBack(rule: LimitRule, key: string, cost = 1): void {
    this.own.putBack(rule, key, cost);
    const { spanMicros, tokenMicros } = bucketOf(rule);
    if (this.isConnected)
      this.redis
        .takeTokens(`${rule.name}:${key}`, spanMicros, -cost * tokenMicros)
        .catch((error: Error) => this.failed(error));
  }

  async acquire(name: string, key: string, max: number): Promise<Permit | null> {
    const own = this.own.takePermit(name, key, max);
    if (!own) return null;
    const permit = this.hold(`permits:${name}:${key}`, own);
    if (!this.isConnected) return permit;
    try {
      const taken = isTaken.parse(await this.redis.takePermits(permit.key, max, PERMIT_TTL_MS, permit.id));
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
    if (this.isConnected) this.redis.zrem(key, id).catch((error: Error) => this.failed(error));
  }

  /** What was released while there was no connection is removed now, since what Redis had to read before is read. */
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
      this.redis
        .takePermits(key, Number.MAX_SAFE_INTEGER, PERMIT_TTL_MS, ...ids)
        .catch((error: Error) => this.failed(error));
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
