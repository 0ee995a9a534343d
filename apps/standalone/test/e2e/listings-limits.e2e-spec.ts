import { solveProofOfWork } from '@market/sdk';
import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { bodyOf, reasonOf } from '../support/buyer.js';
import { attemptListing, free, perCall } from '../support/listings.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

inEachMode('the work of a listing', (harness) => {
  it('is a challenge of its seller, with difficulty, algorithm, hint [spec: POST /listings/challenge, authentication-rule.5]', async () => {
    const { market } = await registerAgent(harness);
    const answer = await market.send('POST', '/listings/challenge');
    expect(answer).toMatchObject({ status: 200, json: { success: true } });
    const data = bodyOf(answer).data as { challenge: string; difficulty: number };
    expect(data).toEqual({
      challenge: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      difficulty: 1,
      algorithm: 'sha256',
      hint: expect.stringContaining('SHA-256(challenge + nonce)') as string,
    });
    expect(
      (await market.send('POST', '/listings', { body: { ...free(), pow_nonce: await solveProofOfWork(data) } })).status,
    ).toBe(201);

    const nobody = await stranger(harness).send('POST', '/listings/challenge');
    expect([nobody.status, bodyOf(nobody).error!.code]).toEqual([401, 'UNAUTHORIZED']);
    const { key } = await market.apiKeys.create({ name: 'reads', scopes: ['read', 'subscribe'] });
    const weak = await market.authorizedBy(`Bearer ${key}`).send('POST', '/listings/challenge');
    expect([weak.status, bodyOf(weak).error!.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('is never blocked by challenges that were forgotten: the oldest gives way', async () => {
    const seller = await registerAgent(harness);
    const first = await seller.market.listings.challenge();
    for (let count = 0; count < 32; count += 1) await seller.market.listings.challenge();
    const stale = await attemptListing(seller, {
      ...free(),
      challenge: first.challenge,
      pow_nonce: await solveProofOfWork(first),
    });
    expect([stale.status, reasonOf(stale)]).toEqual([400, 'challenge_invalid']);
    expect((await attemptListing(seller, free())).status).toBe(201);
  });
});

inEachMode('a seller of many listings', ({ mode }) => {
  let market: RunningMarketplace;
  let seller: Agent;

  beforeAll(async () => {
    market = await startMarketplace({
      mode,
      env: { CATALOG_LISTINGS_PER_POW_STEP: '2', CATALOG_LISTINGS_PER_SELLER_MAX: '6' },
    });
    seller = await registerAgent(market);
  }, 240_000);
  afterAll(() => market.stop());

  it('works sixteen times harder after each few, and may have so many and no more', async () => {
    const difficulties: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      const puzzle = await seller.market.listings.challenge();
      difficulties.push(puzzle.difficulty);
      const body = {
        ...(count < 5 ? free() : perCall({ status: 'draft' })),
        challenge: puzzle.challenge,
        pow_nonce: await solveProofOfWork(puzzle),
      };
      expect((await seller.market.send('POST', '/listings', { body })).status).toBe(201);
    }
    expect(difficulties).toEqual([1, 1, 2, 2, 3, 3]);
    const refused = await seller.market.send('POST', '/listings/challenge');
    expect(refused).toMatchObject({
      status: 403,
      json: {
        error: {
          code: 'FORBIDDEN',
          details: { reason: 'listing_limit_reached', limit: 6 },
          recovery: { next_action: 'contact_operator' },
        },
      },
    });
    const other = await registerAgent(market);
    expect((await other.market.listings.challenge()).difficulty).toBe(1);

    const { data } = await other.market.listings.search({ limit: 100 });
    expect(data).toHaveLength(5);
    const { id } = data[0]!;
    await seller.market.listings.update(id, { status: 'draft' });
    await seller.market.listings.remove(id);
    expect((await seller.market.send('POST', '/listings/challenge')).status).toBe(200);
  });
});
