import type { CallableOffering } from '@market/contracts/catalog';
import { executeCall, mediaTypeOf, takesBody } from '@market/contracts/gateway';
import { refuse } from '@market/messaging';
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { bodyDigest } from '../canonical/body-digest.js';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import type { CallInput } from './call-target.js';

type SentBody = Pick<CallInput, 'body' | 'contentType'>;

/** What the seller is sent: JSON text, or the bytes of a body that nobody here reads. */
export const bytesOf = ({ body, contentType }: SentBody): Buffer | string =>
  contentType === undefined ? body : Buffer.from(body, 'base64');

/** What HTTP clients name that were told no type; indexers ask for the price of a call with such bodies. */
const TYPES_OF_PROBES = ['', 'text/plain', 'application/x-www-form-urlencoded', 'application/xml'];

/** A body without a key, which is JSON if its type is none that the listing takes, and says nothing of it. */
export function asProbed({ requestFormats = [] }: CallableOffering, sent: SentBody): SentBody {
  const { contentType } = sent;
  if (contentType === undefined || takesBody(requestFormats, contentType)) return sent;
  const bytes = Buffer.from(sent.body, 'base64');
  return TYPES_OF_PROBES.includes(mediaTypeOf(contentType)) && isUtf8(bytes) ? { body: bytes.toString() } : sent;
}

/**
 * The digest that binds a body to its payment: of JSON that of its canonical form, else that of the bytes.
 * @throws Refusal `request_body_invalid`.
 */
export function digestOfBody(sent: SentBody): Buffer {
  if (sent.contentType !== undefined) return hash('sha256', bytesOf(sent), 'buffer');
  const result = bodyDigest(sent.body);
  if ('problem' in result) throw refuse(executeCall, 'request_body_invalid', result);
  return result.digest;
}

/** @throws Refusal `format_not_taken`. */
export function assertTaken({ requestFormats = ['json'] }: CallableOffering, { contentType }: SentBody): void {
  if (!takesBody(requestFormats, contentType))
    throw refuse(executeCall, 'format_not_taken', { request_formats: requestFormats });
}

/** @throws Refusal `request_body_too_large`. */
export function assertFits({ endpoint }: CallableEndpoint, sent: SentBody): void {
  const { maxRequestBytes } = endpoint;
  if (Buffer.byteLength(bytesOf(sent)) > maxRequestBytes)
    throw refuse(executeCall, 'request_body_too_large', { max_request_bytes: maxRequestBytes });
}
