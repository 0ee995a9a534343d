import type { Principal, RequestOf } from '@market/contracts';
import { getListing, getOffering, removeListing, updateListing } from '@market/contracts/catalog';
import { provisionEndpoint } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { refuse } from '@market/messaging';
import type pg from 'pg';
import {
  columnsOf,
  LISTING_STATES,
  stateOf,
  TRANSITIONS,
  type ListingState,
  type StateColumns,
} from '../../src/listings/listing-state.js';
import { LIMITS, principal, startCatalog, type CatalogService } from '../support/catalog-service.js';
import { create, perCall, refusalOf, type NewListing } from '../support/listings.js';

type Patch = Omit<RequestOf<typeof updateListing>, 'listing_id'>;

describe('a listing under its owner and others', () => {
  let service: CatalogService;
  let owner: Principal;
  let listingId: string;
  let slug: string;

  beforeAll(async () => {
    service = await startCatalog();
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    await fresh();
  });

  async function fresh(values: Partial<NewListing> = perCall): Promise<void> {
    owner = principal();
    service.gateway.provision = () => ({ signingSecret: 'whsec_new', status: 'unverified', limits: LIMITS });
    ({ id: listingId, slug } = await create(service, owner, values));
    service.gateway.provisioned.length = 0;
  }
  async function put(state: ListingState): Promise<void> {
    const { status, suspended_by, held_as } = columnsOf(state);
    await service.sql('UPDATE listings SET status = $2, suspended_by = $3, held_as = $4 WHERE id = $1', [
      listingId,
      status,
      suspended_by,
      held_as,
    ]);
  }
  async function state(): Promise<ListingState | 'removed'> {
    const [row] = await service.sql<StateColumns & pg.QueryResultRow>(
      'SELECT status, suspended_by, held_as FROM listings WHERE id = $1',
      [listingId],
    );
    return row ? stateOf(row) : 'removed';
  }
  const patch = (values: Patch, as = owner) =>
    service.ask(updateListing, { listing_id: listingId, ...values }, { principal: as });
  const remove = (as = owner) => service.ask(removeListing, { listing_id: listingId }, { principal: as });

  const ACTIONS = {
    edit: () => patch({ description: 'Something else entirely' }),
    set_draft: () => patch({ status: 'draft' }),
    set_active: () => patch({ status: 'active' }),
    delete: () => remove(),
  };
  const owners = LISTING_STATES.flatMap((from) =>
    (Object.keys(ACTIONS) as (keyof typeof ACTIONS)[]).map((action) => [from, action] as const),
  );

  it.each(owners)('moves from %s by %s as the table of states says', async (from, action) => {
    await put(from);
    const expected = TRANSITIONS[from][action];
    if (typeof expected === 'object') {
      const { reason, details } = await refusalOf(ACTIONS[action]());
      expect(reason).toBe(expected.denied === 'locked' ? 'listing_suspended' : 'suspended_by_owner');
      expect(details).toEqual(expected.denied === 'locked' ? { suspended_by: columnsOf(from).suspended_by } : {});
      expect(await state()).toBe(from);
      return;
    }
    const answer = await ACTIONS[action]();
    expect(await state()).toBe(expected);
    if (action === 'delete')
      expect(answer).toEqual(
        expected === 'removed'
          ? { id: listingId, deleted: true }
          : { id: listingId, deleted: false, status: 'suspended' },
      );
    else expect(answer).toMatchObject({ id: listingId, status: columnsOf(expected as ListingState).status });
  });

  const strangers: [string, Principal | undefined][] = [
    ['another seller', principal()],
    ['a buyer', principal({ role: 'buyer' })],
    ['a human', principal({ accountType: 'human' })],
    ['nobody', undefined],
  ];
  it.each(LISTING_STATES.flatMap((at) => strangers.map(([who, stranger]) => [at, who, stranger] as const)))(
    'hides what is not active: %s from %s',
    async (at, _who, stranger) => {
      await put(at);
      const active = at === 'active';
      for (const ref of [listingId, slug]) {
        const seen = service.ask(getListing, { ref }, { principal: stranger });
        if (active) expect(await seen).toMatchObject({ id: listingId });
        else expect((await refusalOf(seen)).reason).toBe('listing_not_found');
        expect(await service.ask(getListing, { ref }, { principal: owner })).toMatchObject({ id: listingId });
        expect(await service.ask(getOffering, { ref })).toMatchObject({ listingId, status: columnsOf(at).status });
      }
      const { items } = await service.search({ page: 1, limit: 100 }, { principal: stranger });
      expect(items.some(({ id }) => id === listingId)).toBe(active);
      if (!stranger) return;
      for (const request of [
        patch({ name: 'Mine now' }, stranger),
        patch({ status: 'active' }, stranger),
        remove(stranger),
      ]) {
        expect((await refusalOf(request)).reason).toBe(active ? 'not_owner' : 'listing_not_found');
      }
      expect(await state()).toBe(at);
    },
  );

  it('answers not found for what never was, whatever the form of the reference', async () => {
    for (const ref of [newId(), 'no-such-listing', '', ' ', '..', '%00', '\0', 'a'.repeat(100_000), '💥', "'; --"]) {
      expect((await refusalOf(service.ask(getListing, { ref }))).reason).toBe('listing_not_found');
      expect((await refusalOf(service.ask(getOffering, { ref }))).reason).toBe('listing_not_found');
    }
    const unknown = { listing_id: newId() };
    expect((await refusalOf(service.ask(updateListing, unknown, { principal: owner }))).reason).toBe(
      'listing_not_found',
    );
    expect((await refusalOf(service.ask(removeListing, unknown, { principal: owner }))).reason).toBe(
      'listing_not_found',
    );
  });

  describe('PATCH', () => {
    it.each<[string, Partial<NewListing>, Patch, string]>([
      ['a price on a free listing', { pricing_model: 'free' }, { pricing_amount: 0.000001 }, 'pricing_invalid'],
      ['a free listing with a price', perCall, { pricing_model: 'free', pricing_amount: 0.000001 }, 'pricing_invalid'],
      [
        'per_call without an endpoint',
        { pricing_model: 'free' },
        { pricing_model: 'per_call' },
        'private_endpoint_required',
      ],
      [
        'an endpoint without per_call',
        { pricing_model: 'free' },
        { private_endpoint_url: 'https://x.example' },
        'private_endpoint_unexpected',
      ],
      [
        'an endpoint on the way out of per_call',
        perCall,
        { pricing_model: 'monthly', private_endpoint_url: 'https://x.example' },
        'private_endpoint_unexpected',
      ],
    ])('refuses %s, and changes nothing', async (_what, values, change, reason) => {
      await fresh(values);
      const before = await service.ask(getListing, { ref: listingId });
      expect((await refusalOf(patch(change))).reason).toBe(reason);
      expect(await service.ask(getListing, { ref: listingId })).toEqual(before);
      expect(service.gateway.provisioned).toEqual([]);
    });

    it('makes a listing cost nothing when it is made free', async () => {
      expect(await patch({ pricing_model: 'free' })).toMatchObject({ pricing_model: 'free', pricing_amount: 0 });
    });

    it('provisions an endpoint for a listing that becomes per_call, and shows its secret once', async () => {
      await fresh({ pricing_model: 'free' });
      const changed = await patch({
        pricing_model: 'per_call',
        pricing_amount: 0.000005,
        private_endpoint_url: 'https://x.example/a',
      });
      expect(changed).toMatchObject({
        pricing_model: 'per_call',
        pricing_amount: 0.000005,
        endpoint_status: 'unverified',
        gateway_limits: LIMITS,
        gateway_signing_secret: 'whsec_new',
      });
      expect(service.gateway.provisioned).toEqual([
        { listingId, sellerId: owner.accountId, url: 'https://x.example/a' },
      ]);
      expect(await service.ask(getListing, { ref: listingId })).not.toHaveProperty('gateway_signing_secret');
    });

    it('gives the gateway a new URL, without a new secret', async () => {
      service.gateway.provision = () => ({ status: 'unverified', limits: LIMITS });
      expect(await patch({ private_endpoint_url: 'https://x.example/b' })).not.toHaveProperty('gateway_signing_secret');
      expect(service.gateway.provisioned).toEqual([
        { listingId, sellerId: owner.accountId, url: 'https://x.example/b' },
      ]);
    });

    it('changes nothing when the gateway refuses the URL', async () => {
      service.gateway.provision = () => {
        throw refuse(provisionEndpoint, 'endpoint_url_refused', { problem: 'not https' });
      };
      expect(await refusalOf(patch({ name: 'Renamed', private_endpoint_url: 'http://x.example' }))).toEqual({
        reason: 'endpoint_url_refused',
        details: { problem: 'not https' },
      });
      expect((await service.ask(getListing, { ref: listingId })).name).toBe('Weather');
    });

    it('asks the gateway for nothing on behalf of a stranger', async () => {
      await refusalOf(patch({ private_endpoint_url: 'https://evil.example' }, principal()));
      expect(service.gateway.provisioned).toEqual([]);
    });

    it('judges the listing again once it is locked: what was suspended meanwhile stays so', async () => {
      service.gateway.provision = async () => {
        await put('held_as_active');
        return { status: 'unverified', limits: LIMITS };
      };
      expect((await refusalOf(patch({ name: 'Renamed', private_endpoint_url: 'https://x.example/c' }))).reason).toBe(
        'listing_suspended',
      );
    });

    it('loses none of 16 parallel changes', async () => {
      await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          patch(index % 2 ? { tags: [`t${index}`] } : { name: `Name ${index}` }),
        ),
      );
      expect(await service.sql('SELECT version FROM listings WHERE id = $1', [listingId])).toEqual([{ version: 17 }]);
    });
  });

  describe('an address', () => {
    it('stays when its listing is renamed', async () => {
      expect(await patch({ name: 'Renamed' })).toMatchObject({ name: 'Renamed', slug });
      expect(await service.ask(getListing, { ref: slug })).toMatchObject({ name: 'Renamed' });
    });

    it('resolves by every slug its listing ever had', async () => {
      await service.sql('INSERT INTO listing_slugs VALUES ($1, $2)', [`${slug}-of-old`, listingId]);
      expect(await service.ask(getListing, { ref: `${slug}-of-old` })).toMatchObject({ id: listingId, slug });
      expect(await service.ask(getOffering, { ref: `${slug}-of-old` })).toMatchObject({ listingId, slug });
    });

    it('is free again after a draft that nobody saw, and never after a listing that was public', async () => {
      const name = `Unique ${newId()}`;
      const draft = await create(service, owner, { name, status: 'draft' });
      await service.ask(removeListing, { listing_id: draft.id }, { principal: owner });
      const published = await create(service, owner, { name });
      expect(published.slug).toBe(draft.slug);
      await service.ask(updateListing, { listing_id: published.id, status: 'draft' }, { principal: owner });
      await service.ask(removeListing, { listing_id: published.id }, { principal: owner });
      expect((await create(service, owner, { name })).slug).toBe(`${draft.slug}-2`);
    });
  });
});
