import {
  solveProofOfWork,
  type CreateListing,
  type HttpAnswer,
  type ListingDetail,
  type RequestOptions,
} from '@market/sdk';
import { bodyOf } from './buyer.js';
import type { Agent } from './harness.js';

export const ENDPOINT = 'http://127.0.0.1:48123/call';
export const free = (more: Partial<CreateListing> = {}): CreateListing => ({
  name: 'Some things',
  description: 'Things for the tests of the marketplace.',
  ...more,
});
export const perCall = (more: Partial<CreateListing> = {}): CreateListing =>
  free({ pricing_model: 'per_call', pricing_amount: 0.5, private_endpoint_url: ENDPOINT, ...more });

/** The quality of a listing that nobody has called yet. */
export const UNMEASURED = {
  ...{ live: false, last_success_at: null, success_rate_7d: null, success_rate_30d: null, calls_7d: 0, calls_30d: 0 },
  ...{
    p50_ms_7d: null,
    p95_ms_7d: null,
    p50_ms_30d: null,
    p95_ms_30d: null,
    buyers_30d: 0,
    buyers_success_rate_30d: null,
  },
};

/** POST /listings with a fresh proof of work, which `body` may replace. */
export async function attemptListing(seller: Agent, body: object, options: RequestOptions = {}): Promise<HttpAnswer> {
  const { challenge, difficulty } = await seller.market.listings.challenge();
  return seller.market.send('POST', '/listings', {
    ...options,
    body: { challenge, pow_nonce: await solveProofOfWork({ challenge, difficulty }), ...body },
  });
}

/** Creates a free listing with these fields. @returns it in full, as its owner sees it. */
export async function listedWith(seller: Agent, fields: Partial<CreateListing>): Promise<ListingDetail> {
  const answer = await attemptListing(seller, free(fields));
  expect(answer).toMatchObject({ status: 201 });
  return seller.market.listings.get(bodyOf(answer).data as { id: string });
}

/** Asserts that the answer refuses this field with 400. The edge names every invalid field, the catalog the first. */
export function expectFieldRefused(answer: HttpAnswer, field: string): void {
  const { error } = bodyOf(answer);
  expect([answer.status, error?.code]).toEqual([400, 'BAD_REQUEST']);
  const details = error!.details as { field?: string; fields?: { field: string }[] };
  expect([details.field, ...(details.fields ?? []).map((problem) => problem.field)]).toContainEqual(
    expect.stringMatching(new RegExp(`^${field}(\\.|$)`)),
  );
}
