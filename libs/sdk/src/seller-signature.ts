import { createHmac, timingSafeEqual } from 'node:crypto';
import { SignatureError } from './errors.js';

/** `whsec_<base64>`, or several of them while a rotated one is still valid. */
export type SigningSecrets = string | readonly string[];

export interface SignedRequest {
  headers: Headers | Record<string, string | readonly string[] | undefined>;
  /** The bytes as they were received. A body that was parsed and serialised again does not match the signature. */
  rawBody: string | Uint8Array;
  secret: SigningSecrets;
  /** How far the timestamp may be from now, in either direction. */
  toleranceSeconds?: number;
  /** Milliseconds since the epoch. */
  now?: number;
}

/**
 * A call that the marketplace made. The signature covers `requestId`, `timestamp` and the body. A seller whose work
 * must not be done twice stores the `requestId`, since a repeated attempt has the same one.
 */
export interface SellerCall {
  requestId: string;
  timestamp: Date;
  /** `gateway.job_status` asks whether a job is done, and `gateway.cancel` says that its buyer asks to cancel it. */
  event: 'gateway.call' | 'endpoint.test' | 'gateway.job_status' | 'gateway.cancel';
  listingId: string | null;
  buyerId: string | null;
  attempt: number;
  /** When the whole answer, or of a stream its first event, must have arrived; else it is neither delivered nor charged. */
  deadline: Date | null;
  /** The same holds for an answer that is longer. Of a listing that answers with files or streams, it is their limit. */
  maxResponseBytes: number | null;
  /** Where and until when the answer may be delivered, if this call is answered with a job. */
  job: { url: string; deadline: Date } | null;
}

const SECRET_PREFIX = 'whsec_';
const MIN_SECRET_BYTES = 24;
const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * Checks that a request comes from the marketplace, is unchanged and is recent.
 * @throws SignatureError when it is not; TypeError when a secret is not a signing secret or the tolerance no
 * number of seconds.
 */
export function verifyRequest(request: SignedRequest): SellerCall {
  const header = (name: string): string | undefined => headerOf(request.headers, name);
  const requestId = required(header, 'x-market-request-id', /^[^.\s]{1,255}$/);
  const timestamp = required(header, 'x-market-timestamp', /^\d{1,12}$/);
  const signatures = required(header, 'x-market-signature', /^v\d+[a-z]*,\S+( v\d+[a-z]*,\S+)*$/).split(' ');

  const tolerance = request.toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS;
  // No age is greater than NaN, which would accept any time.
  if (!(tolerance >= 0)) throw new TypeError('toleranceSeconds is a number of seconds, 0 or more.');
  const age = (request.now ?? Date.now()) / 1000 - Number(timestamp);
  if (!(Math.abs(age) <= tolerance)) {
    throw new SignatureError('outside_tolerance', `The request was signed ${Math.round(age)} seconds ago.`);
  }

  const secrets = typeof request.secret === 'string' ? [request.secret] : request.secret;
  const accepted = secrets.map((secret) => sign(secret, requestId, timestamp, request.rawBody));
  if (!signatures.some((signature) => accepted.some((expected) => equal(signature, expected)))) {
    throw new SignatureError('no_matching_signature', 'No signature of the request matches the secret.');
  }

  const event = header('x-market-event') ?? 'gateway.call';
  if (!isEvent(event)) {
    throw new SignatureError('malformed_header', 'X-Market-Event names no event of this version.');
  }
  const [deadline, maxResponseBytes] = [header('x-market-deadline'), header('x-market-max-response-bytes')];
  const jobUrl = header('x-market-job-url');
  return {
    requestId,
    timestamp: new Date(Number(timestamp) * 1000),
    event,
    listingId: header('x-market-listing-id') ?? null,
    buyerId: header('x-market-buyer-id') ?? null,
    attempt: Number(header('x-market-attempt') ?? 1),
    deadline: deadline === undefined ? null : new Date(Number(deadline) * 1000),
    maxResponseBytes: maxResponseBytes === undefined ? null : Number(maxResponseBytes),
    job:
      jobUrl === undefined ? null : { url: jobUrl, deadline: new Date(Number(header('x-market-job-deadline')) * 1000) },
  };
}

const EVENTS: readonly SellerCall['event'][] = [
  'gateway.call',
  'endpoint.test',
  'gateway.job_status',
  'gateway.cancel',
];
const isEvent = (event: string): event is SellerCall['event'] => (EVENTS as readonly string[]).includes(event);

/** Of Standard Webhooks. */
export function sign(secret: string, requestId: string, timestamp: string, rawBody: string | Uint8Array): string {
  const key = secret.startsWith(SECRET_PREFIX) ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64') : undefined;
  // Anybody could sign with an empty or short key.
  if (!key || key.length < MIN_SECRET_BYTES)
    throw new TypeError('A signing secret is whsec_<base64 of 24 bytes or more>.');
  return `v1,${createHmac('sha256', key).update(`${requestId}.${timestamp}.`).update(rawBody).digest('base64')}`;
}

/** Compares the texts and not the decoded bytes: base64 has several spellings of one value. */
function equal(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function required(header: (name: string) => string | undefined, name: string, form: RegExp): string {
  const value = header(name);
  if (value === undefined) throw new SignatureError('missing_header', `The request has no ${name} header.`);
  if (!form.test(value)) throw new SignatureError('malformed_header', `The ${name} header is malformed.`);
  return value;
}

function headerOf(headers: SignedRequest['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'object' ? value.join(', ') : value;
}
