import { Logger } from '@nestjs/common';
import { Agent, request, type Dispatcher } from 'undici';
import { isAddress } from 'viem';
import { z } from 'zod';
import { cdpToken, type CdpKey } from './cdp-key.js';
import {
  isSolana,
  type EvmPayload,
  type ExactPayload,
  type ExactRequirements,
  type Permit2Payload,
} from './exact-payment.js';
import {
  Facilitator,
  NotTakenError,
  onTheWire,
  settlementFrom,
  UncertainSettlementError,
  type Reserve,
  type Settlement,
  type Verification,
} from './facilitator.js';

export interface HttpFacilitatorSettings {
  url: string;
  /** Sent as `Authorization: Bearer …` if the facilitator requires one. */
  apiKey?: string | undefined;
  /** Makes a token for each request instead. */
  cdpKey?: CdpKey | undefined;
  timeoutMs: number;
}

/**
 * A facilitator that changes its accounts still settles transactions with an earlier account, so a stale value does no
 * harm.
 */
const SUPPORTED_TTL_MS = 60_000;
const RETRY_SUPPORTED_MS = 1_000;
const SUPPORTED_TIMEOUT_MS = 5_000;
/** Shorter than an answer may take, because another facilitator may be asked if this one cannot be reached. */
const CONNECT_TIMEOUT_MS = 3_000;
const MAX_ANSWER_BYTES = 262_144;
const MAX_REDIRECTIONS = 5;
const REDIRECTIONS = new Set([301, 302, 307, 308]);
/** Statuses that a request is answered with before anybody has looked at its payment. */
const DECLINED = new Set([401, 403, 404, 429]);
/** The number of characters of an unusable answer that an error quotes. */
const EXCERPT_LENGTH = 200;

const verification = {
  answer: z.object({ isValid: z.boolean(), invalidReason: z.string().nullish() }),
  refusal: z.object({ isValid: z.literal(false), invalidReason: z.string() }),
};
const settled = z.object({
  success: z.boolean(),
  transaction: z.string().nullish(),
  errorReason: z.string().nullish(),
  network: z.string().nullish(),
  payer: z.string().nullish(),
});
const settlement = { answer: settled, refusal: settled.extend({ success: z.literal(false), errorReason: z.string() }) };
const supported = {
  answer: z.object({
    kinds: z.array(
      z.object({
        x402Version: z.number().default(2),
        scheme: z.string(),
        network: z.string(),
        extra: z.record(z.string(), z.unknown()).nullish(),
      }),
    ),
  }),
  refusal: z.never(),
};

/** What came is no answer to the request. */
export class UnusableAnswerError extends Error {
  constructor(
    operation: string,
    readonly status: number,
    text: string,
  ) {
    super(`${operation} was answered by ${status}: ${text.slice(0, EXCERPT_LENGTH)}`);
  }
}

/**
 * Any facilitator with the protocol's HTTP interface (`/verify`, `/settle`, `/supported` of x402-specification-v2.md).
 * A refusal may also come with a status below 500.
 */
export class HttpFacilitator extends Facilitator {
  readonly id: string;
  private readonly dispatcher: Dispatcher;
  private readonly base: URL;
  private readonly logger = new Logger('HttpFacilitator');
  /** The networks on which it settles exact payments; undefined while it has not said so. */
  private networks: Set<string> | undefined;
  /** The fee payers of each network, the current one last. */
  private readonly feePayers = new Map<string, Set<string>>();
  /** The accounts that settle `upto` payments on each network, the current one last. */
  private readonly uptoAddresses = new Map<string, Set<string>>();
  private supportedAskedAt = 0;
  /** Why `/supported` is not answered, so that each change is logged once. */
  private silence: string | undefined;
  private isKeyRefused = false;

  constructor(private readonly settings: HttpFacilitatorSettings) {
    super();
    this.base = new URL(`${settings.url.replace(/\/+$/, '')}/`);
    this.id = this.base.host;
    // The signal of a request does not end an attempt to connect.
    const timeout = Math.min(settings.timeoutMs, CONNECT_TIMEOUT_MS);
    this.dispatcher = new Agent({ maxResponseSize: MAX_ANSWER_BYTES, connect: { timeout } });
  }

  /**
   * Returns the account of the last answer to `GET /supported`. If that answer is older than a minute, or older than a
   * second while no account is known, the method requests it again in the background.
   */
  override feePayerOf(network: string): string | null {
    const feePayer = [...(this.feePayers.get(network) ?? [])].at(-1) ?? null;
    void this.refresh(feePayer === null ? RETRY_SUPPORTED_MS : SUPPORTED_TTL_MS);
    return feePayer;
  }

  override uptoAddressOf(network: string): string | null {
    void this.refresh(SUPPORTED_TTL_MS);
    return [...(this.uptoAddresses.get(network) ?? [])].at(-1) ?? null;
  }

  override settlesUptoAs(account: string, network: string): boolean {
    return this.uptoAddresses.get(network)?.has(account.toLowerCase()) ?? false;
  }

  override get isSilent(): boolean {
    return this.silence !== undefined;
  }

  override paysFeesAs(account: string, network: string): boolean {
    return this.feePayers.get(network)?.has(account) ?? false;
  }

  override problemOn(network: string): string | undefined {
    if (this.isKeyRefused) return `the facilitator ${this.id} refuses its key, ${this.keyVariable}`;
    return this.networks && !this.networks.has(network)
      ? `the facilitator ${this.id} does not settle exact payments on ${network}`
      : undefined;
  }

  override async readReserves(): Promise<Reserve[]> {
    await this.refresh(SUPPORTED_TTL_MS);
    return [];
  }

  /** What was known before stays known if there is no answer. */
  private async refresh(ttlMs: number): Promise<void> {
    if (Date.now() - this.supportedAskedAt <= (this.silence === undefined ? ttlMs : RETRY_SUPPORTED_MS)) return;
    this.supportedAskedAt = Date.now();
    const silence = await this.readSupported().then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (silence !== undefined && silence !== this.silence)
      this.logger.warn(`the facilitator ${this.id} does not say what it supports: ${silence}`);
    this.silence = silence;
  }

  /** @throws Error if there is no usable answer in time. */
  async readSupported(): Promise<void> {
    try {
      const { kinds } = await this.ask('supported', supported);
      const exact = kinds.filter(({ x402Version, scheme }) => x402Version === 2 && scheme === 'exact');
      this.networks = new Set(exact.map(({ network }) => network));
      for (const { network, extra } of exact)
        if (typeof extra?.['feePayer'] === 'string') remember(this.feePayers, network, extra['feePayer']);
      for (const { x402Version, scheme, network, extra } of kinds)
        if (x402Version === 2 && scheme === 'upto' && isAddress(String(extra?.['facilitatorAddress'])))
          remember(this.uptoAddresses, network, String(extra!['facilitatorAddress']).toLowerCase());
      this.isKeyRefused = false;
    } catch (error) {
      this.isKeyRefused = error instanceof UnusableAnswerError && (error.status === 401 || error.status === 403);
      throw error;
    }
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification> {
    const { isValid, invalidReason } = await this.askToPay('verify', verification, payload, requirements);
    return isValid ? { valid: true } : { valid: false, reason: invalidReason ?? 'invalid_payload' };
  }

  /**
   * A 5xx, a timeout or an invalid answer does not prove that no money moved.
   * @throws NotTakenError if it did not take the payment.
   */
  async settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement> {
    let answer;
    try {
      answer = await this.askToPay('settle', settlement, payload, requirements);
    } catch (error) {
      if (error instanceof UnusableAnswerError && DECLINED.has(error.status))
        throw new NotTakenError('declined', error);
      throw error;
    }
    if (answer.success) expectAnswerTo(answer, payload, requirements);
    return settlementFrom(answer);
  }

  /** Whoever does not answer is asked at once what it supports, so that offers name the account of another one. */
  private askToPay<Answer>(
    operation: 'verify' | 'settle',
    schemas: { answer: z.ZodType<Answer>; refusal: z.ZodType<Answer> },
    payload: ExactPayload,
    requirements: ExactRequirements,
  ): Promise<Answer> {
    return this.ask(operation, schemas, bodyOf(payload, requirements)).catch((error: unknown) => {
      this.supportedAskedAt = 0;
      throw error;
    });
  }

  /**
   * A redirection is followed, and our key is shown to the facilitator's own origin alone.
   * @throws Error if there is no usable answer in time.
   */
  private async ask<Answer>(
    operation: string,
    { answer, refusal }: { answer: z.ZodType<Answer>; refusal: z.ZodType<Answer> },
    body?: string,
  ): Promise<Answer> {
    const { timeoutMs } = this.settings;
    const method = body === undefined ? 'GET' : 'POST';
    const signal = AbortSignal.timeout(body === undefined ? Math.min(timeoutMs, SUPPORTED_TIMEOUT_MS) : timeoutMs);
    let url = new URL(operation, this.base);
    for (let redirections = 0; ; redirections += 1) {
      const { dispatcher } = this;
      const sent = request(url, { method, headers: await this.headersFor(method, url), body, dispatcher, signal });
      const {
        statusCode,
        headers,
        body: answered,
      } = await sent.catch((error: Error) => {
        // Whoever redirects has seen the request.
        throw redirections === 0 && wasNeverConnected(error) ? new NotTakenError('unreachable', error) : error;
      });
      const text = await answered.text();
      const { location } = headers;
      if (REDIRECTIONS.has(statusCode) && typeof location === 'string' && redirections < MAX_REDIRECTIONS) {
        url = new URL(location, url);
        continue;
      }
      const schema = statusCode < 300 ? answer : refusal;
      const parsed = statusCode < 500 ? schema.safeParse(jsonOrUndefined(text)) : undefined;
      if (parsed?.success) return parsed.data;
      throw new UnusableAnswerError(operation, statusCode, text);
    }
  }

  /** The variable that has its key. */
  get keyVariable(): string {
    const { cdpKey } = this.settings;
    return cdpKey ? 'PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET' : 'PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY';
  }

  private async headersFor(method: string, url: URL): Promise<Record<string, string>> {
    const { apiKey, cdpKey } = this.settings;
    const token = url.origin === this.base.origin ? (cdpKey ? await cdpToken(cdpKey, method, url) : apiKey) : undefined;
    return {
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'agent-marketplace',
      ...(token && { authorization: `Bearer ${token}` }),
    };
  }
}

/** The account that was named last is the current one. */
function remember(accounts: Map<string, Set<string>>, network: string, account: string): void {
  const known = accounts.get(network) ?? new Set();
  known.delete(account);
  accounts.set(network, known.add(account));
}

/** @throws UncertainSettlementError if a success is one of another payment, because then this one may have moved, too. */
function expectAnswerTo(
  { network, payer, transaction }: z.output<typeof settled>,
  { payload }: ExactPayload,
  requirements: ExactRequirements,
): void {
  const { from } = ((payload as Partial<EvmPayload>).authorization ??
    (payload as Partial<Permit2Payload>).permit2Authorization ??
    {}) as { from?: string };
  // Answers of the protocol's first version name networks by other names.
  if (network?.includes(':') && network !== requirements.network)
    throw new UncertainSettlementError(`a settlement on ${network}`);
  if (transaction && transaction.startsWith('0x') === isSolana(requirements.network))
    throw new UncertainSettlementError('a transaction of another kind of network');
  if (payer && from && payer.toLowerCase() !== from.toLowerCase())
    throw new UncertainSettlementError('a settlement for another payer');
}

/** Whether a request failed before it was sent, because there was no connection. */
function wasNeverConnected(error: unknown): boolean {
  const { code, syscall, errors } = error as { code?: string; syscall?: string; errors?: unknown[] };
  if (errors) return errors.every(wasNeverConnected);
  return (
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    code === 'UND_ERR_CONNECT_TIMEOUT' ||
    /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/.test(code ?? '')
  );
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
