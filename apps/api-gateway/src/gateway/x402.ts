import type { OutputOf } from '@market/contracts';
import type { executeCall } from '@market/contracts/gateway';
import type { FastifyReply } from 'fastify';
import { challengeHeader, challengeOf, sendReceipt, type Requirements } from './mpp.js';
import { offersOf, signedReceipt } from './offer-receipt.js';
import { PAYMENT_IDENTIFIER, PAYMENT_IDENTIFIER_NAME } from './payment-identifier.js';

type Answered = Extract<OutputOf<typeof executeCall>, { outcome: 'answered' }>;

export interface PaidResource {
  url: string;
  description: string;
  serviceName?: string;
}

/** `PaymentRequired` of x402 version 2. Source: specs/x402-specification-v2.md of github.com/coinbase/x402. */
export interface PaymentRequired {
  x402Version: 2;
  error: string;
  resource: PaidResource & { mimeType: 'application/json' };
  accepts: Requirements[];
  extensions: Record<string, object>;
}

/** @param extensions extensions in addition to those of every call. */
export const paymentRequiredOf = (
  accepts: Requirements[],
  resource: PaidResource,
  error = 'PAYMENT-SIGNATURE header is required',
  extensions: Record<string, object> = {},
): PaymentRequired => ({
  x402Version: 2,
  error,
  resource: { ...resource, mimeType: 'application/json' },
  accepts,
  extensions: { ...PAYMENT_IDENTIFIER, ...extensions },
});

/**
 * Proxies refuse an answer with more than 4 KiB of headers by default (nginx: `proxy_buffer_size`), and its other headers
 * take one. What a client sends back is made from this value.
 */
const MAX_HEADER_BYTES = 2_500;
/** The same for both headers that ask for a payment. Only a request of a page is answered with headers of CORS. */
const MAX_BYTES_TOGETHER = { page: 2_500, program: 3_100 };
const MAX_DESCRIPTION_LENGTH = 80;
const MAX_EXAMPLE_BYTES = 300;

/**
 * The header `PAYMENT-REQUIRED`: what a stock client needs to pay, within the default limits of proxies. The body of the
 * answer has everything. `accepts` are as many as fit, those on the chain that the request named first, and then their
 * signed offers.
 * @param sorted the accepts in the order in which they are left out.
 */
function paymentRequiredHeader(x402: PaymentRequired, sorted: Requirements[], maxBytes: number): string {
  const [first, ...others] = sorted;
  const accepts = first ? [first] : [];
  const fits = (header: string): boolean => header.length <= maxBytes;
  const headerWith = (brief: Brief, more = {}): string =>
    headerOf({ ...x402, ...brief, accepts, extensions: { ...brief.extensions, ...more } });
  const briefs = briefsOf(x402);
  const brief = briefs.find((each) => fits(headerWith(each))) ?? briefs.at(-1)!;
  for (const accept of others) {
    accepts.push(accept);
    if (!fits(headerWith(brief))) accepts.pop();
  }
  const indexes = accepts.map((accept) => x402.accepts.indexOf(accept));
  const signed = headerWith(brief, offersOf(x402.extensions, indexes));
  return fits(signed) ? signed : headerWith(brief);
}

const shortened = (text: string): string =>
  text.length > MAX_DESCRIPTION_LENGTH ? `${text.slice(0, MAX_DESCRIPTION_LENGTH - 1).trimEnd()}…` : text;

type Brief = Pick<PaymentRequired, 'resource' | 'extensions'>;

/**
 * What is said beside the terms, from the most to the least. Texts of any script and addresses of any length have to fit.
 * Clients and indexers compile `schema`: an empty one accepts what the whole one does.
 */
function briefsOf({ resource, extensions }: PaymentRequired): Brief[] {
  const { bazaar, [PAYMENT_IDENTIFIER_NAME]: identifier } = extensions as Record<string, { info: object }>;
  const { info } = (bazaar ?? {}) as { info?: { input?: { body?: unknown } } };
  const identified = identifier && { [PAYMENT_IDENTIFIER_NAME]: { info: identifier.info, schema: {} } };
  const extended = (listed: typeof info): Brief['extensions'] => ({
    ...(listed && { bazaar: { info: listed, schema: {} } }),
    ...identified,
  });
  const bare = info && { ...info, input: { ...info.input, body: {} } };
  const isLong = Buffer.byteLength(JSON.stringify(info?.input?.body ?? {})) > MAX_EXAMPLE_BYTES;
  const described = { ...resource, description: shortened(resource.description) };
  const { url, mimeType } = resource;
  return [
    { resource: described, extensions: extended(isLong ? bare : info) },
    { resource: described, extensions: extended(bare) },
    { resource: { url, mimeType, description: '' }, extensions: extended(bare) },
    { resource: { url, mimeType, description: '' }, extensions: {} },
  ];
}

/**
 * Sends what can be signed in headers too: in `PAYMENT-REQUIRED`, and as a challenge of the Machine Payments Protocol
 * unless that leaves too little room for it.
 * @param chainId a CAIP-2 id or its reference alone.
 * @returns what the body says.
 */
export function sendRequirements(x402: PaymentRequired, reply: FastifyReply, chainId?: string): PaymentRequired {
  const isNamed = ({ network }: Requirements): boolean =>
    network === chainId || network.slice(network.indexOf(':') + 1) === chainId;
  const sorted = x402.accepts.toSorted((a, b) => Number(isNamed(b)) - Number(isNamed(a)));
  const [challenge] = sorted.flatMap((accept) => challengeOf(accept, x402.resource.url, reply.request) ?? []);
  const together = MAX_BYTES_TOGETHER[reply.request.headers.origin === undefined ? 'program' : 'page'];
  const asked = challenge && challengeHeader(challenge);
  const left = Math.min(MAX_HEADER_BYTES, together - (asked?.length ?? 0));
  const header = paymentRequiredHeader(x402, sorted, left);
  if (asked !== undefined && header.length <= left)
    reply.header('www-authenticate', asked).header('payment-required', header);
  else reply.header('payment-required', paymentRequiredHeader(x402, sorted, MAX_HEADER_BYTES));
  return x402;
}

/** The same for an offer; null if no signature pays it. */
export const signable = (
  accepts: Requirements[],
  resource: PaidResource,
  reply: FastifyReply,
  error?: string,
): PaymentRequired | null =>
  accepts.length === 0 ? null : sendRequirements(paymentRequiredOf(accepts, resource, error), reply);

/** Reports the settlement in the header `PAYMENT-RESPONSE`, and in `Payment-Receipt` to whom it concerns. */
export function sendSettlement(transfer: NonNullable<Answered['transfer']>, reply: FastifyReply): void {
  const { receipt, ...settled } = transfer;
  const extensions = receipt === undefined ? {} : { extensions: signedReceipt(receipt) };
  reply.header('payment-response', headerOf({ success: true, ...settled, ...extensions }));
  sendReceipt(transfer, reply);
}
export const notSettledOf = (reason: string, network: string, message?: string): object => ({
  success: false,
  errorReason: reason,
  ...(message === undefined ? {} : { errorMessage: message }),
  transaction: '',
  network,
});

export const headerOf = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
