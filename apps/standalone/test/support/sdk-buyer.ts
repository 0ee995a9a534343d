import { Marketplace, MarketplaceError } from '@market/sdk';
import type { Agent } from './harness.js';

export const failureOf = (call: Promise<unknown>): Promise<MarketplaceError> =>
  call.then(
    () => Promise.reject(new Error('the call did not fail')),
    (error: unknown) => (error instanceof MarketplaceError ? error : Promise.reject(error as Error)),
  );

/** Creates a second client of an agent, as in another process: it shares the key and no state. */
export const clientOf = ({ registration, market }: Agent, more: { fetch?: typeof fetch } = {}): Marketplace =>
  new Marketplace({ baseUrl: market.baseUrl, authorization: registration.authorization_header, ...more });

/** A `fetch` that loses the answers to the first `times` requests with a signature. */
export function losingAnswers(times: number): { fetch: typeof fetch; lost(): number } {
  let lost = 0;
  const losing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!new Headers(init?.headers).has('payment-signature') || lost === times) return response;
    lost += 1;
    throw new TypeError('fetch failed');
  };
  return { fetch: losing, lost: () => lost };
}
