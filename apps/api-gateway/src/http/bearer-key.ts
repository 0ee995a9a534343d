import { hashApiKey, hashSessionToken, type CredentialKind } from '@market/contracts/identity';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isPayment } from './payment-headers.js';

/** A key or a session token, represented by its hash. */
export interface Credential {
  kind: CredentialKind;
  hash: string;
}

const HEADER = 'authorization';
const SCHEME = 'bearer ';

/**
 * Returns the credential in the Authorization header: undefined if there is no such header or it carries a payment, and
 * null unless it is one well-formed `Bearer <key or session token>`. Node returns only the first of repeated headers, so
 * the code counts them.
 */
export function bearerCredential(request: IncomingMessage): Credential | null | undefined {
  const header = request.headers.authorization;
  if (header === undefined || isPayment(header)) return undefined;
  if (header.slice(0, SCHEME.length).toLowerCase() !== SCHEME || isRepeated(request.rawHeaders)) return null;
  const text = header.slice(SCHEME.length);
  return credential('api_key', hashApiKey(text)) ?? sessionCredential(text);
}

/** The same for a key in X-Api-Key, which leaves Authorization to a payment. */
export function keyCredential(headers: IncomingHttpHeaders): Credential | null | undefined {
  const key = headers['x-api-key'];
  return key === undefined ? undefined : credential('api_key', hashApiKey(String(key)));
}

/** Returns null unless the text is a well-formed session token. */
export const sessionCredential = (text: string): Credential | null => credential('session', hashSessionToken(text));

const credential = (kind: CredentialKind, hash: string | null): Credential | null =>
  hash === null ? null : { kind, hash };

function isRepeated(rawHeaders: string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === HEADER.length && name.toLowerCase() === HEADER) count += 1;
  }
  return count > 1;
}
