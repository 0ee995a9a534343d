import type { ListingValidation } from '@market/sdk';
import { eventually } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { bodyOf } from '../support/buyer.js';
import { free, listedWith } from '../support/listings.js';
import { openShop, reply, type Shop } from '../support/seller.js';

inEachMode('the validation of a listing', (harness) => {
  let seller: Agent;
  let shop: Shop;
  let works = true;
  const mark = `nimbus${randomBytes(4)
    .toString('hex')
    .replace(/\d/g, (digit) => 'ghijklmnop'[Number(digit)]!)}`;

  const statuses = ({ checks }: ListingValidation) =>
    Object.fromEntries(checks.map(({ name, status }) => [name, status]));
  const checkOf = ({ checks }: ListingValidation, name: string) => checks.find((check) => check.name === name)!;

  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Validated seller' });
    shop = await openShop(seller, () => (works ? { ok: true } : reply(500, {})), { name: `Cloud atlas ${mark}` });
  });
  afterAll(() => shop.close());

  it('shows what buyers and indexers see, with a test call [added: POST /listings/validate]', async () => {
    const before = shop.requests.length;
    const found = await seller.market.listings.validate(shop.listing, { q: `${mark} atlas` });
    expect([found.ok, shop.requests.length - before]).toEqual([true, 1]);
    expect(statuses(found)).toMatchObject({ state: 'ok', wallet: 'ok', payment: 'ok', endpoint: 'ok', search: 'ok' });
    expect(found.search).toMatchObject({ rank: 1, lacks: [], note: { match: 'all' } });
    expect(found.discovery).toMatchObject({
      type: 'http',
      resource: expect.stringContaining(shop.listing.slug) as string,
    });
  });

  it('names what is wrong, and what to do about it [added: POST /listings/validate]', async () => {
    works = false;
    const broken = await seller.market.listings.validate(shop.listing, { q: `${mark} zeppelin` });
    works = true;
    expect(broken.ok).toBe(false);
    expect(checkOf(broken, 'endpoint')).toMatchObject({
      status: 'failed',
      message: 'The answer does not have a 2xx status',
      fix: expect.stringContaining('PUT /listings/{listingId}/endpoint') as string,
    });
    expect(broken.search).toMatchObject({ rank: 1, lacks: ['zeppelin'] });
    // The catalog learns of the failed test by an event.
    await eventually(async () => {
      const quiet = await seller.market.listings.validate(shop.listing, { probe: false });
      expect(checkOf(quiet, 'endpoint')).toMatchObject({
        status: 'warning',
        message: 'No test was made; its endpoint is failing',
      });
    });

    const draft = await listedWith(seller, { ...free(), status: 'draft' });
    const unseen = await seller.market.listings.validate(draft);
    expect(unseen).toMatchObject({ ok: false, discovery: null, search: { rank: null } });
    expect(statuses(unseen)).toMatchObject({
      state: 'failed',
      text: 'warning',
      endpoint: 'skipped',
      search: 'skipped',
    });
    expect(checkOf(unseen, 'state').fix).toContain('status: active');
  });

  it('is for the owner alone, and for listings that there are [added: POST /listings/validate]', async () => {
    const stranger = await registerAgent(harness);
    const ask = async (body: object) => {
      const answer = await stranger.market.send('POST', '/listings/validate', { body });
      return [answer.status, (bodyOf(answer).error!.details as { reason: string }).reason];
    };
    expect(await ask({ listing: shop.listing.slug })).toEqual([403, 'not_owner']);
    expect(await ask({ listing: 'nobody-sells-this' })).toEqual([404, 'listing_not_found']);
    expect(await ask({ listing: '../../me' })).toEqual([404, 'listing_not_found']);
    expect((await ask({}))[0]).toBe(400);
  });
});
