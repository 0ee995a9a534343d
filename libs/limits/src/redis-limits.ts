import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Redis, type Result } from 'ioredis';
import { z } from 'zod';
import { Limits, type LimitRule, type LimitVerdict } from './limits.js';
import { MemoryLimits } from './memory-limits.js';
import { bucketOf, verdictOf } from './token-bucket.js';

/** What a request waits for Redis at most. */
const ANSWER_WITHIN_MS = 100;
const CONNECT_WITHIN_MS = 1_000;
const RECONNECT_EVERY_MS = 500;

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
local after = allowed and lack + need or lack
if now + after ~= fullAt then
  redis.call('SET', KEYS[1], string.format('%.0f', now + after), 'PX', string.format('%.0f', math.ceil(after / 1000)))
end
return {allowed and 1 or 0, after}`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    takeTokens(key: string, spanMicros: number, needMicros: number): Result<unknown, Context>;
  }
}

const answerSchema = z.tuple([z.union([z.literal(0), z.literal(1)]), z.int().nonnegative()]);

/**
 * Counts in Redis, for all processes together, and in this process beside it. Redis is asked only for what this process'
 * own count allows, and its answer raises that count; so when Redis is gone, slow, empty or answers nonsense, counting
 * goes on in this process from what it last knew. A request waits for it 100 ms at most, and not at all while there is no
 * connection: one that let a request wait is closed and opened anew.
 */
export class RedisLimits extends Limits implements OnApplicationShutdown {
  private readonly logger = new Logger('Limits');
  private readonly own = new MemoryLimits();
  private readonly redis: Redis;
  private isConnected = false;
  private isAway = false;

  constructor(url: string) {
    super();
    this.redis = new Redis(url, {
      scripts: { takeTokens: { numberOfKeys: 1, lua: takeTokens } },
      keyPrefix: 'limits:',
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: ANSWER_WITHIN_MS,
      connectTimeout: CONNECT_WITHIN_MS,
      disconnectTimeout: ANSWER_WITHIN_MS,
      retryStrategy: () => RECONNECT_EVERY_MS,
      disableClientInfo: true,
    });
    this.redis.on('ready', () => (this.isConnected = true));
    this.redis.on('close', () => (this.isConnected = false));
    this.redis.on('error', (error: Error) => this.lost(error));
    this.redis.on('reconnecting', () => this.lost(new Error('the connection was closed')));
  }

  async consume(rule: LimitRule, key: string, cost = 1): Promise<LimitVerdict> {
    const own = this.own.take(rule, key, cost);
    if (!own.allowed || !this.isConnected) return own;
    const bucket = bucketOf(rule);
    let answer: z.output<typeof answerSchema>;
    try {
      answer = answerSchema.parse(await this.redis.takeTokens(`${rule.name}:${key}`, bucket.spanMicros, cost * bucket.tokenMicros));
    } catch (error) {
      this.lost(error as Error);
      this.reconnect();
      return own;
    }
    this.found();
    const allowed = answer[0] === 1;
    const lackMicros = Math.min(answer[1], bucket.spanMicros);
    if (!allowed) this.own.giveBack(rule, key, cost);
    this.own.lackAtLeast(rule, key, lackMicros);
    return verdictOf(bucket, allowed, lackMicros, cost);
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }

  private reconnect(): void {
    if (!this.isConnected) return;
    this.isConnected = false;
    this.redis.disconnect(true);
  }

  private lost(error: Error): void {
    if (this.isAway) return;
    this.isAway = true;
    this.logger.warn(`Redis is away (${error.message}); each process counts for itself`);
  }

  /** Known by an answer, not by a connection: one that only refuses is not back. */
  private found(): void {
    if (!this.isAway) return;
    this.isAway = false;
    this.logger.log('Redis is back; processes count together');
  }
}
