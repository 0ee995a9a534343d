import type { GatewayResult, HttpAnswer, Offer, Recovery, SandboxOutcome } from '@market/sdk';
import type { Agent } from './harness.js';

/** The parts of any answer that tests look at. */
export interface Answered {
  success: boolean;
  data?: unknown;
  error?: {
    code: string;
    message: string;
    details?: Record<string, unknown> & { reason?: string };
    recovery?: Recovery;
  };
}

export const bodyOf = (answer: HttpAnswer): Answered => answer.json as Answered;
export const resultOf = (answer: HttpAnswer): GatewayResult => bodyOf(answer).data as GatewayResult;
export const reasonOf = (answer: HttpAnswer): string | undefined => bodyOf(answer).error?.details?.reason;

/** Sends one request to the gateway. It pays nothing, does not wait and does not repeat the request. */
export function callOnce(
  buyer: Agent,
  listing: { id: string } | string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  const ref = typeof listing === 'string' ? listing : listing.id;
  return buyer.market.send('POST', `/gateway/${ref}`, {
    rawBody: typeof body === 'string' ? body : JSON.stringify(body),
    headers,
  });
}

export const withRelayId = (relayRequestId: string): Record<string, string> => ({
  'X-Market-Relay-Request-Id': relayRequestId,
});

/** Returns the offer of a 402 and asserts that it matches the request. */
export async function quote(
  buyer: Agent,
  listing: { id: string },
  body: unknown,
  headers?: Record<string, string>,
): Promise<Offer> {
  const answer = await callOnce(buyer, listing, body, headers);
  expect(answer).toMatchObject({ status: 402, json: { success: false, error: { code: 'PAYMENT_REQUIRED' } } });
  return (bodyOf(answer).data as { payment: Offer }).payment;
}

/** Quotes and pays. @returns the relay request id, good for the same body. */
export async function payFor(
  buyer: Agent,
  listing: { id: string },
  body: unknown,
  outcome?: SandboxOutcome,
  headers?: Record<string, string>,
): Promise<string> {
  const { relay_request_id: relayRequestId } = await quote(buyer, listing, body, headers);
  await buyer.market.sandbox.pay(relayRequestId, { outcome });
  return relayRequestId;
}

/** Sends one request of an agent with fetch, whose answer may be bytes or come in pieces. */
export const fetchAs = (
  agent: Agent,
  baseUrl: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: object,
): Promise<Response> =>
  fetch(`${baseUrl}${path.startsWith('/api') ? '' : '/api/v1'}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${agent.registration.api_key}`,
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body && JSON.stringify(body),
  });
