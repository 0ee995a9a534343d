import type { OutputOf, Principal, RequestOf } from '@market/contracts';
import { createListing, createListingChallenge } from '@market/contracts/catalog';
import { Refusal, type RequestContext } from '@market/messaging';
import { createHash } from 'node:crypto';
import type { CatalogService } from './catalog-service.js';

export type NewListing = RequestOf<typeof createListing>;

export function solve(challenge: string, difficulty: number): string {
  for (let nonce = 0; ; nonce += 1) {
    if (createHash('sha256').update(`${challenge}${nonce}`).digest('hex').startsWith('0'.repeat(difficulty)))
      return String(nonce);
  }
}

/** Requests a challenge for the seller and solves it. */
export async function proofOf(
  service: CatalogService,
  principal: Principal,
): Promise<{ challenge: string; pow_nonce: string }> {
  const { challenge, difficulty } = await service.ask(createListingChallenge, {}, { principal });
  return { challenge, pow_nonce: solve(challenge, difficulty) };
}

export const plain: Omit<NewListing, 'pow_nonce'> = {
  name: 'Weather',
  description: 'Forecasts for any place on earth',
};
export const perCall: Omit<NewListing, 'pow_nonce'> = {
  ...plain,
  pricing_model: 'per_call',
  pricing_amount: 0.01,
  private_endpoint_url: 'https://seller.example/forecast',
};

export async function create(
  service: CatalogService,
  principal: Principal,
  values: Partial<NewListing> = {},
  as: Partial<RequestContext> = {},
): Promise<OutputOf<typeof createListing>> {
  return service.ask(
    createListing,
    { ...plain, ...(await proofOf(service, principal)), ...values },
    { principal, ...as },
  );
}

/** Returns the refusal of a request; fails if the request was not refused. */
export async function refusalOf(
  request: Promise<unknown>,
): Promise<{ reason: string; details: Record<string, unknown> }> {
  const error = await request.then(
    (answer) => {
      throw new Error(`was not refused but answered ${JSON.stringify(answer)}`);
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof Refusal)) throw error;
  return { reason: error.reason, details: error.details };
}
