import { Logger } from '@nestjs/common';
import { Agent, interceptors, request, type Dispatcher } from 'undici';
import { z } from 'zod';
import type { ExactPayload, ExactRequirements } from './exact-payment.js';
import { Facilitator, onTheWire, settlementFrom, type Settlement, type Verification } from './facilitator.js';

export interface HttpFacilitatorSettings {
  url: string;
  /** Sent as `Authorization: Bearer …` if the facilitator requires one. */
  apiKey?: string;
  timeoutMs: number;
}

/**
 * A facilitator that changes its accounts still settles transactions with an earlier account, so a stale value does no
 * harm.
 */
const SUPPORTED_TTL_MS = 60_000;
const RETRY_SUPPORTED_MS = 1_000;
const MAX_ANSWER_BYTES = 262_144;
const MAX_REDIRECTIONS = 5;
/** The number of characters of an unusable answer that an error quotes. */
const EXCERPT_LENGTH = 200;

const verification = {
  answer: z.object({ isValid: z.boolean(), invalidReason: z.string().nullish() }),
  refusal: z.object({ isValid: z.literal(false), invalidReason: z.string() }),
};
const settlement = {
  answer: z.object({ success: z.boolean(), transaction: z.string().nullish(), errorReason: z.string().nullish() }),
  refusal: z.object({ success: z.literal(false), errorReason: z.string(), transaction: z.string().nullish() }),
};
const supported = {
  answer: z.object({
    kinds: z.array(
      z.object({ scheme: z.string(), network: z.string(), extra: z.record(z.string(), z.unknown()).nullish() }),
    ),
  }),
  refusal: z.never(),
};

/**
 * Any facilitator with the protocol's HTTP interface (`/verify`, `/settle`, `/supported` of x402-specification-v2.md).
 * A refusal may also come with a status below 500.
 */
export class HttpFacilitator extends Facilitator {
  private readonly dispatcher: Dispatcher;
  private readonly headers: Record<string, string>;
  private readonly logger = new Logger('HttpFacilitator');
  private readonly feePayers = new Map<string, string>();
  private supportedAskedAt = 0;

  constructor(private readonly settings: HttpFacilitatorSettings) {
    super();
    const { apiKey, timeoutMs } = settings;
    // The signal of a request does not end an attempt to connect.
    this.dispatcher = new Agent({ maxResponseSize: MAX_ANSWER_BYTES, connect: { timeout: timeoutMs } }).compose(
      interceptors.redirect({ maxRedirections: MAX_REDIRECTIONS }),
    );
    this.headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'agent-marketplace',
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    };
  }

  /**
   * Returns the account of the last answer to `GET /supported`. If that answer is older than a minute, or older than a
   * second while no account is known, the method requests it again in the background.
   */
  override feePayerOf(network: string): string | null {
    const feePayer = this.feePayers.get(network) ?? null;
    if (Date.now() - this.supportedAskedAt > (feePayer === null ? RETRY_SUPPORTED_MS : SUPPORTED_TTL_MS))
      void this.askSupported();
    return feePayer;
  }

  private async askSupported(): Promise<void> {
    this.supportedAskedAt = Date.now();
    try {
      const { kinds } = await this.ask('supported', supported);
      for (const { scheme, network, extra } of kinds)
        if (scheme === 'exact' && typeof extra?.['feePayer'] === 'string')
          this.feePayers.set(network, extra['feePayer']);
    } catch (error) {
      this.logger.warn(`the facilitator does not say what it supports: ${(error as Error).message}`);
    }
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification> {
    const { isValid, invalidReason } = await this.ask('verify', verification, bodyOf(payload, requirements));
    return isValid ? { valid: true } : { valid: false, reason: invalidReason ?? 'invalid_payload' };
  }

  /** A 5xx, a timeout or an invalid answer does not prove that no money moved. */
  async settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement> {
    return settlementFrom(await this.ask('settle', settlement, bodyOf(payload, requirements)));
  }

  /** @throws Error if there is no usable answer in time. */
  private async ask<Answer>(
    operation: string,
    { answer, refusal }: { answer: z.ZodType<Answer>; refusal: z.ZodType<Answer> },
    body?: string,
  ): Promise<Answer> {
    const { url, timeoutMs } = this.settings;
    const { statusCode, body: answered } = await request(`${url.replace(/\/+$/, '')}/${operation}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: this.headers,
      body,
      dispatcher: this.dispatcher,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await answered.text();
    const schema = statusCode < 300 ? answer : refusal;
    const parsed = statusCode < 500 ? schema.safeParse(jsonOrUndefined(text)) : undefined;
    if (!parsed?.success)
      throw new Error(`${operation} was answered by ${statusCode}: ${text.slice(0, EXCERPT_LENGTH)}`);
    return parsed.data;
  }
}

/** The payload is sent as it was signed. */
const bodyOf = (payload: ExactPayload, requirements: ExactRequirements): string => {
  const [paymentPayload, paymentRequirements] = onTheWire(payload, requirements);
  return JSON.stringify({ x402Version: paymentPayload.x402Version, paymentPayload, paymentRequirements });
};

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
