import { createReview, getScore, listReviews } from '@market/contracts/reputation';
import { getAgents } from '@market/contracts/identity';
import { BUYER_ID, LISTING_ID, SELLER_ID } from '../../src/openapi/example-values.js';
import {
  createReviewExample,
  reviewExample,
  reviewRecordExample,
  scoreExample,
} from '../../src/reputation/reputation.examples.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send } from '../support/http.js';

describe('reviews and scores at the edge', () => {
  let harness: EdgeHarness;
  let key: string;

  beforeEach(async () => {
    harness = await EdgeHarness.start();
    answerEverything(harness.bus);
    ({ key } = harness.agent(['write'], 'Field Planner'));
  });
  afterEach(() => harness.stop());

  it('GET /reviews/{listingId} names the reviewers, in pages of 20 unless said otherwise', async () => {
    const first = await send(harness, 'GET', '/reviews/hourly-weather');
    expect([first.status, first.json]).toEqual([
      200,
      { success: true, data: [reviewExample], pagination: { page: 1, limit: 20, total: 1, totalPages: 1 } },
    ]);
    await send(harness, 'GET', `/reviews/${LISTING_ID.toUpperCase()}?page=3&limit=50`);
    expect(harness.bus.asked(listReviews)).toEqual([
      { listing_ref: 'hourly-weather', page: 1, limit: 20 },
      { listing_ref: LISTING_ID, page: 3, limit: 50 },
    ]);
    expect(harness.bus.asked(getAgents)).toEqual([{ ids: [BUYER_ID] }]);
    expectRefused(
      await send(harness, 'GET', '/reviews/hourly-weather?limit=51'),
      400,
      'BAD_REQUEST',
      'request_invalid',
    );
  });

  it('POST /reviews/{listingId} answers 201 with the review under the name of its writer', async () => {
    const answer = await send(harness, 'POST', `/reviews/${LISTING_ID}`, { key, body: createReviewExample });
    expect([answer.status, answer.json.data]).toEqual([201, reviewExample]);
    expect(harness.bus.asked(createReview)).toEqual([{ listing_ref: LISTING_ID, ...createReviewExample }]);
  });

  it.each([
    ['ratings that are missing', {}],
    ['a rating of 0', { ...createReviewExample, accuracy_rating: 0 }],
    ['a rating of 6', { ...createReviewExample, value_rating: 6 }],
    ['half a star', { ...createReviewExample, reliability_rating: 4.5 }],
    ['a rating that is text', { ...createReviewExample, value_rating: '5' }],
    ['a title that is too long', { ...createReviewExample, title: '👩'.repeat(201) }],
    ['a comment that is too long', { ...createReviewExample, comment: 'x'.repeat(5_001) }],
    ['a reviewer of its choosing', { ...createReviewExample, reviewer: { id: SELLER_ID } }],
  ])('refuses %s and asks nobody', async (_what, body) => {
    expectRefused(
      await send(harness, 'POST', `/reviews/${LISTING_ID}`, { key, body }),
      400,
      'BAD_REQUEST',
      'request_invalid',
    );
    expect(harness.bus.asked(createReview)).toEqual([]);
  });

  it.each([
    ['purchase_required', 403, 'FORBIDDEN'],
    ['own_listing', 403, 'FORBIDDEN'],
    ['related_to_seller', 403, 'FORBIDDEN'],
    ['already_reviewed', 409, 'CONFLICT'],
    ['listing_not_found', 404, 'NOT_FOUND'],
  ] as const)('says %s as %i', async (reason, status, code) => {
    harness.bus.refuses(createReview, reason, {});
    expectRefused(
      await send(harness, 'POST', `/reviews/${LISTING_ID}`, { key, body: createReviewExample }),
      status,
      code,
      reason,
    );
  });

  it('GET /agents/{agentId}/score answers anyone', async () => {
    const answer = await send(harness, 'GET', `/agents/${SELLER_ID}/score`);
    expect([answer.status, answer.json.data]).toEqual([200, scoreExample]);
    expect(harness.bus.asked(getScore)).toEqual([{ agentId: SELLER_ID }]);
    expectRefused(await send(harness, 'GET', '/agents/nobody/score'), 404, 'NOT_FOUND', 'agent_not_found');
  });

  it.each([['/reviews/hourly-weather'], [`/agents/${SELLER_ID}/score`]])(
    'GET %s answers 304 to who has it, and anew once it changed',
    async (path) => {
      const { headers } = await send(harness, 'GET', path);
      expect([headers['cache-control'], headers.etag]).toEqual(['no-cache', expect.stringMatching(/^W\/"/)]);
      const known = { headers: { 'if-none-match': headers.etag! } };
      expect(await send(harness, 'GET', path, known)).toMatchObject({ status: 304, text: '' });
      harness.bus
        .answers(getScore, () => ({ ...scoreExample, market_score: 1 }))
        .answers(listReviews, () => ({ items: [reviewRecordExample], total: 2 }));
      expect((await send(harness, 'GET', path, known)).status).toBe(200);
    },
  );
});
