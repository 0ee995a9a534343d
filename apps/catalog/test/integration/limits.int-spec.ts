import type { Principal } from '@market/contracts';
import { createListing, createListingChallenge, removeListing } from '@market/contracts/catalog';
import { principal, startCatalog, type CatalogService } from '../support/catalog-service.js';
import { create, plain, proofOf, refusalOf } from '../support/listings.js';

describe('one seller', () => {
  let service: CatalogService;
  beforeAll(async () => {
    service = await startCatalog({
      CATALOG_LISTINGS_PER_SELLER_MAX: '12',
      CATALOG_LISTINGS_PER_POW_STEP: '4',
      CATALOG_OPEN_CHALLENGES_MAX: '32',
    });
  });
  afterAll(() => service.stop());

  const difficultyFor = async (seller: Principal) =>
    (await service.ask(createListingChallenge, {}, { principal: seller })).difficulty;
  const deleteChallenges = (seller: Principal) =>
    service.sql('DELETE FROM listing_challenges WHERE agent_id = $1', [seller.accountId]);

  it('works harder for each listing after a few within the hour, and not for those of yesterday', async () => {
    const seller = principal();
    for (const expected of [1, 1, 1, 1, 2, 2, 2, 2]) {
      expect(await difficultyFor(seller)).toBe(expected);
      await deleteChallenges(seller);
      await create(service, seller);
    }
    expect(await difficultyFor(seller)).toBe(3);
    await deleteChallenges(seller);
    await service.sql(`UPDATE listings SET created_at = created_at - interval '1 day' WHERE provider_id = $1`, [
      seller.accountId,
    ]);
    expect(await difficultyFor(seller)).toBe(1);
    expect(await difficultyFor(principal())).toBe(1);
  });

  it('saves no work by hoarding challenges while they are easy', async () => {
    const seller = principal();
    const difficulties: number[] = [];
    for (let count = 0; count < 12; count += 1) difficulties.push(await difficultyFor(seller));
    expect(difficulties).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  });

  it('has so many listings and not one more, also when it creates many at once, until it deletes a draft', async () => {
    const seller = principal();
    await service.sql(
      `INSERT INTO listing_challenges
       SELECT encode(sha256(n::text::bytea), 'hex'), $1, 0, now(), now() + interval '1 hour' FROM generate_series(1, 20) n`,
      [seller.accountId],
    );
    const open = await service.sql<{ challenge: string }>(
      'SELECT challenge FROM listing_challenges WHERE agent_id = $1',
      [seller.accountId],
    );
    const answers = await Promise.allSettled(
      open.map(({ challenge }) =>
        service.ask(createListing, { ...plain, status: 'draft', challenge, pow_nonce: '0' }, { principal: seller }),
      ),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(12);
    for (const answer of answers)
      if (answer.status === 'rejected')
        expect(answer.reason).toMatchObject({ reason: 'listing_limit_reached', details: { limit: 12 } });
    expect(await refusalOf(service.ask(createListingChallenge, {}, { principal: seller }))).toEqual({
      reason: 'listing_limit_reached',
      details: { limit: 12 },
    });

    const [draft] = await service.sql<{ id: string }>('SELECT id FROM listings WHERE provider_id = $1 LIMIT 1', [
      seller.accountId,
    ]);
    await service.ask(removeListing, { listing_id: draft!.id }, { principal: seller });
    await service.sql(`UPDATE listings SET created_at = created_at - interval '1 day' WHERE provider_id = $1`, [
      seller.accountId,
    ]);
    await deleteChallenges(seller);
    await service.ask(createListing, { ...plain, ...(await proofOf(service, seller)) }, { principal: seller });
  });
});
