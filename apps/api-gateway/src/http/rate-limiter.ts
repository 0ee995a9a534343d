import type { Principal } from '@market/contracts';
import { Limits, type LimitRule, type LimitResult, type Permit } from '@market/limits';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { apiGatewayConfig, type ApiGatewayConfig } from '../config.js';
import type { RouteRules } from './route-rules.js';
import { siteOf } from './client-address.js';
import { rateLimited, tooManyInFlight } from './edge-refusals.js';
import { carriesSignature } from './payment-headers.js';
import { RATE_NAMES, type RateName } from './rate-limits.js';

type Done = (error?: Error) => void;

/** Counts a request for its account, or for its address if it has none, and refuses it if the rate is exceeded. */
export type Counter = (
  request: FastifyRequest,
  reply: FastifyReply,
  principal: Principal | undefined,
  done: Done,
) => void;

/** What calls in flight are counted by. */
type Caller = 'account' | 'payer' | 'address';

/** A rate, and its description for clients: draft-ietf-httpapi-ratelimit-headers-11. */
interface Rate {
  name: RateName;
  rule: LimitRule;
  policy: string;
}

const uncounted: Counter = (_request, _reply, _principal, done) => done();

/** Counts requests before their bodies are read, by account if it is known, otherwise by address. */
@Injectable()
export class RateLimiter {
  /** Absent if rate limits are off. */
  private readonly rates: Record<RateName, Rate> | undefined;
  private readonly maxInFlight: number;
  /** The permits of calls in flight. */
  private readonly permits = new WeakMap<FastifyRequest, Permit[]>();
  /** The account or address that a retry counts for if it does not deliver. */
  private readonly retries = new WeakMap<FastifyRequest, string>();

  constructor(
    private readonly limits: Limits,
    @Inject(apiGatewayConfig.token) { rateLimits }: ApiGatewayConfig,
  ) {
    this.rates =
      rateLimits === 'off'
        ? undefined
        : (Object.fromEntries(RATE_NAMES.map((name) => [name, rateOf(name, rateLimits.rules[name])])) as Record<
            RateName,
            Rate
          >);
    this.maxInFlight = rateLimits === 'off' ? Infinity : rateLimits.callsInFlight;
  }

  /** Returns the counter for the requests of a route. */
  counterOf({ rate }: RouteRules, isRead: boolean): Counter {
    if (!this.rates || rate === 'none') return uncounted;
    const [ofAccount, ofAddress] = [
      this.rates[rate ?? (isRead ? 'reads' : 'writes')],
      this.rates[rate ?? (isRead ? 'catalog' : 'challenges')],
    ];
    if (rate === 'calls') return this.countCall(ofAccount);
    return (request, reply, principal, done) =>
      principal
        ? this.count(ofAccount, principal.accountId, reply, done)
        : this.count(ofAddress, siteOf(request.ip), reply, done);
  }

  /**
   * Counts a call also for the wallet that its payment names as the payer. This happens after the body was read: the
   * wallet is not verified yet, and a body that is sent slowly would hold its permits for a long time. `finished`
   * releases them.
   * @throws Refusal `too_many_in_flight`.
   */
  async acquireForPayer(request: FastifyRequest, payer: string): Promise<void> {
    if (this.rates) await this.acquire(request, 'payer', payer.toLowerCase());
  }

  /** Releases the permits of a counted call. It must be called once for every answer, when all work is done. */
  finished(request: FastifyRequest, { statusCode }: FastifyReply): void {
    const payer = this.retries.get(request);
    if (payer !== undefined && statusCode !== 200) void this.limits.consume(this.rates!.retries.rule, payer);
    this.permits.get(request)?.forEach((permit) => permit.release());
  }

  /** Counts a call as long as `underWay` lasts, although it may have been answered before. */
  countWhile(request: FastifyRequest, underWay: Promise<void>): void {
    const permits = this.permits.get(request);
    this.permits.delete(request);
    void underWay.finally(() => permits?.forEach((permit) => permit.release()));
  }

  /** Calls `ask` unless the address has sent too many invalid credentials. */
  beforeAsking(request: FastifyRequest, reply: FastifyReply, ask: () => void, done: Done): void {
    if (!this.rates) return ask();
    this.unlessExhausted(this.rates.refusals, siteOf(request.ip), reply, ask, done);
  }

  /** Refuses a request without a valid credential, and counts it for its address. */
  reject(request: FastifyRequest, reply: FastifyReply, refusal: Error, done: Done): void {
    if (!this.rates) return done(refusal);
    const rate = this.rates.refusals;
    this.limits.consume(rate.rule, siteOf(request.ip)).then((result) => {
      if (result.allowed) done(refusal);
      else refuseExhausted(rate, result, reply, done);
    }, done);
  }

  /** @throws Refusal `rate_limited` if the address has sent too many deliveries of jobs that were refused. */
  async beforeDelivery(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const rate = this.rates?.deliveries;
    if (!rate) return;
    await new Promise<void>((resolve, reject) =>
      this.unlessExhausted(rate, siteOf(request.ip), reply, resolve, (error) => reject(error!)),
    );
  }

  countRefusedDelivery(request: FastifyRequest): void {
    if (this.rates) void this.limits.consume(this.rates.deliveries.rule, siteOf(request.ip));
  }

  /** Counts an invalid credential of a request that is served nevertheless. */
  countUnknown(request: FastifyRequest): void {
    if (this.rates) void this.limits.consume(this.rates.refusals.rule, siteOf(request.ip));
  }

  /**
   * With Redis, the rate and the calls in flight are checked in one round trip. A retry that delivers is paid and not
   * limited by rate; a retry that does not deliver is counted when it is answered. For a retry, Redis therefore only
   * checks the calls in flight.
   */
  private countCall(rate: Rate): Counter {
    return (request, reply, principal, done) => {
      const [kind, caller]: [Caller, string] = principal
        ? ['account', principal.accountId]
        : ['address', siteOf(request.ip)];
      if (carriesPayment(request)) {
        const admit = (): void => {
          this.retries.set(request, caller);
          done();
        };
        const acquire = (): void => void this.acquire(request, kind, caller).then(admit, done);
        return this.unlessExhausted(this.rates!.retries, caller, reply, acquire, done);
      }
      const acquired = this.acquire(request, kind, caller);
      // The refusal may arrive before the rate is known and is handled later; an unhandled rejection would end the
      // process.
      acquired.catch(() => undefined);
      const refuse = (refusal: Error): void => {
        this.limits.putBack(rate.rule, caller);
        done(refusal);
      };
      this.count(
        rate,
        caller,
        reply,
        (limited) => void acquired.then(() => done(limited), limited ? () => done(limited) : refuse),
      );
    };
  }

  private async acquire(request: FastifyRequest, kind: Caller, caller: string): Promise<void> {
    const permit = await this.limits.acquire(`edge.calls-in-flight.${kind}`, caller, this.maxInFlight);
    if (!permit) throw tooManyInFlight(this.maxInFlight);
    this.permits.set(request, [...(this.permits.get(request) ?? []), permit]);
  }

  private unlessExhausted(rate: Rate, key: string, reply: FastifyReply, goOn: () => void, done: Done): void {
    const result = this.limits.peek(rate.rule, key);
    if (result.remaining > 0) goOn();
    else refuseExhausted(rate, result, reply, done);
  }

  private count(rate: Rate, key: string, reply: FastifyReply, done: Done): void {
    this.limits.consume(rate.rule, key).then((result) => {
      tell(reply, rate, result);
      if (result.allowed) done();
      else done(rateLimited(rate.name, result.retryAfterSeconds));
    }, done);
  }
}

/** Whether a call claims to be paid, by the id of an offer or by a signed authorization. */
const carriesPayment = ({ headers }: FastifyRequest): boolean =>
  headers['x-market-relay-request-id'] !== undefined || carriesSignature(headers);

function refuseExhausted(rate: Rate, result: LimitResult, reply: FastifyReply, done: Done): void {
  const { points, perSeconds } = rate.rule;
  tell(reply, rate, result);
  done(rateLimited(rate.name, Math.ceil(perSeconds / points)));
}

function rateOf(name: RateName, rule: LimitRule): Rate {
  const burst = rule.burst === undefined ? '' : `;market-burst=${rule.burst}`;
  return { name, rule, policy: `"${name}";q=${rule.points};w=${rule.perSeconds}${burst}` };
}

const tell = (reply: FastifyReply, { name, policy }: Rate, { remaining, resetSeconds }: LimitResult): void =>
  void reply.header('ratelimit-policy', policy).header('ratelimit', `"${name}";r=${remaining};t=${resetSeconds}`);
