import type { Principal } from '@market/contracts';
import {
  getListing,
  getOffering,
  holdListing,
  inspectListing,
  removeListing,
  updateListing,
} from '@market/contracts/catalog';
import { agentSuspensionChanged } from '@market/contracts/identity';
import { sellerStandingChanged } from '@market/contracts/payments-ledger';
import { Database, latestOperatorActions } from '@market/persistence';
import { runCommand } from '@market/runtime';
import { eventually } from '@market/testing';
import { catalogDatabase } from '../../src/database.js';
import { LOOKALIKES } from '../../src/listings/lookalikes.js';
import { catalog } from '../../src/service.js';
import { principal, startCatalog, type CatalogService } from '../support/catalog-service.js';
import { create, perCall, refusalOf } from '../support/listings.js';

describe('an operator', () => {
  let service: CatalogService;
  let database: Database;
  let owner: Principal;
  let listing: { id: string; slug: string };

  beforeAll(async () => {
    service = await startCatalog();
    database = await Database.open(catalogDatabase, { url: service.databaseUrl, poolSize: 2 });
  });
  afterAll(async () => {
    await database.close();
    await service.stop();
  });
  beforeEach(async () => {
    owner = principal();
    listing = await create(service, owner, perCall);
  });

  const ada = principal({ isOperator: true });
  const bob = principal({ isOperator: true });
  const suspend = (ref = listing.id, reason = 'a copy of another', operator = ada) =>
    service.ask(holdListing, { ref, action: 'hold', reason }, { principal: operator });
  const release = (ref = listing.id, reason: string | null = null, operator = ada) =>
    service.ask(holdListing, { ref, action: 'release', reason }, { principal: operator });
  const patch = (values: { status?: 'draft' | 'active'; name?: string }) =>
    service.ask(updateListing, { listing_id: listing.id, ...values }, { principal: owner });
  const trail = async () =>
    (await latestOperatorActions(database, 100)).actions
      .filter(({ subject }) => subject === listing.id)
      .map(({ operator, command, reason }) => [operator, command, reason]);

  it('takes a listing off the market, by id or slug, and everyone is told', async () => {
    expect(await suspend(listing.slug)).toEqual({
      id: listing.id,
      name: 'Weather',
      status: 'suspended',
      suspended_by: 'operator',
      changed: true,
    });
    expect((await refusalOf(service.ask(getListing, { ref: listing.id }))).reason).toBe('listing_not_found');
    expect(await service.ask(getOffering, { ref: listing.slug })).toMatchObject({ status: 'suspended' });
    expect(await service.ask(getListing, { ref: listing.id }, { principal: owner })).toMatchObject({
      status: 'suspended',
    });
    expect((await service.search({ page: 1, limit: 100 })).items.map(({ id }) => id)).not.toContain(listing.id);
    await eventually(() =>
      expect(
        service.received.changed
          .filter(({ listingId }) => listingId === listing.id)
          .map(({ version, status }) => [version, status]),
      ).toEqual([
        [1, 'active'],
        [2, 'suspended'],
      ]),
    );
  });

  it.each([
    [
      'owes too much',
      (sellerId: string, changedAt: string) =>
        service.deliver(sellerStandingChanged, [{ payload: { sellerId, version: 1, isOverdue: true, changedAt } }]),
    ],
    [
      'is suspended',
      (agentId: string, changedAt: string) =>
        service.deliver(agentSuspensionChanged, [{ payload: { agentId, version: 1, isSuspended: true, changedAt } }]),
    ],
  ])('is told that what it releases stays off the market where its seller %s', async (_why, tell) => {
    await suspend();
    await tell(owner.accountId, new Date().toISOString());
    expect(await release()).toMatchObject({ status: 'suspended', suspended_by: 'system' });
    expect(await service.ask(getListing, { ref: listing.id }, { principal: owner })).toMatchObject({
      status: 'suspended',
    });
    expect(await trail()).toHaveLength(2);
  });

  it('leaves its owner no way but to withdraw it, and gives it back as it was', async () => {
    await suspend();
    for (const change of [{ status: 'draft' as const }, { status: 'active' as const }, { name: 'Renamed' }]) {
      expect(await refusalOf(patch(change))).toEqual({
        reason: 'listing_suspended',
        details: { suspended_by: 'operator' },
      });
    }
    expect(await release()).toMatchObject({ status: 'active', suspended_by: null, changed: true });
    expect(await patch({ name: 'Renamed' })).toMatchObject({ name: 'Renamed', status: 'active' });

    await suspend();
    expect(await service.ask(removeListing, { listing_id: listing.id }, { principal: owner })).toEqual({
      id: listing.id,
      deleted: false,
      status: 'suspended',
    });
    expect(await release()).toMatchObject({ status: 'suspended', suspended_by: 'owner' });
    expect(await patch({ status: 'draft' })).toMatchObject({ status: 'draft' });
    expect(await suspend()).toMatchObject({ status: 'suspended', suspended_by: 'operator' });
    expect(await release()).toMatchObject({ status: 'draft' });
  });

  it('is told when there is nothing to do or nothing there, and neither is noted', async () => {
    expect(await release()).toMatchObject({ status: 'active', changed: false });
    await suspend();
    expect(await suspend()).toMatchObject({ status: 'suspended', changed: false });
    for (const ref of [owner.accountId, 'no-such-listing', '', "'; --"])
      expect((await refusalOf(suspend(ref))).reason).toBe('listing_not_found');
    expect(await trail()).toEqual([[ada.accountId, 'listing suspend', 'a copy of another']]);
  });

  it('leaves a trail that nobody can change', async () => {
    await suspend(listing.slug, 'first');
    await release(listing.slug, 'a mistake', bob);
    await suspend(listing.id, 'again');
    expect(await trail()).toEqual([
      [ada.accountId, 'listing suspend', 'again'],
      [bob.accountId, 'listing release', 'a mistake'],
      [ada.accountId, 'listing suspend', 'first'],
    ]);
    for (const statement of [
      'UPDATE operator_actions SET reason = NULL',
      'DELETE FROM operator_actions',
      'TRUNCATE operator_actions',
    ]) {
      await expect(service.sql(statement)).rejects.toThrow('operator_actions is append-only');
      await expect(database.query({ name: statement, text: statement })).rejects.toThrow('permission denied');
    }
  });

  it('does all or nothing: what is not noted does not happen', async () => {
    await expect(suspend(listing.id, 'a\0b')).rejects.toThrow();
    expect(await service.ask(getListing, { ref: listing.id })).toMatchObject({ status: 'active' });
  });

  it('sees a listing in any state, and others whose names read the same', async () => {
    const name = `Tide ${listing.slug}`;
    const [original, copy] = [
      await create(service, principal(), { name }),
      await create(service, principal(), { name: `ＴＩＤＥ—${listing.slug.toUpperCase()}` }),
    ];
    await suspend(original.id);
    expect(await service.ask(inspectListing, { ref: original.slug }, { principal: ada })).toMatchObject({
      id: original.id,
      status: 'suspended',
      suspended_by: 'operator',
      held_as: 'active',
      slugs: [original.slug],
      provider_name: expect.any(String) as string,
      reads_like: [copy.id],
    });
    await release(original.id);
    const printed = await runCommand(
      catalog,
      catalog.commands!.find(({ name }) => name === 'listing duplicates')!,
      { operator: 'ada', arguments: [], options: {} },
      { DATABASE_URL: service.databaseUrl },
    );
    const lines = printed.split('\n').map((line) => line.split('\t'));
    expect(lines.find(([, , , ids]) => ids!.includes(copy.id))).toEqual([
      '2',
      '2',
      expect.any(String),
      `${original.id} ${copy.id}`,
    ]);
  });

  it('reads names as buyers do: every letter that passes for another is taken for it', async () => {
    for (const [letter, latin] of LOOKALIKES)
      expect(
        await service.sql('SELECT name_reads_as($1) = name_reads_as($2) AS same', [`x${letter}x`, `x${latin}x`]),
      ).toEqual([{ same: true }]);
    const same = ['Crème Brûlée', 'creme brulee', 'CREME-BRULEE!', 'ＣＲＥＭＥ\u200bbrulee', 'сrеmе brulee'];
    const read = await service.sql<{ name: string }>(
      'SELECT DISTINCT name_reads_as(name) AS name FROM unnest($1::text[]) AS name',
      [same],
    );
    expect(read).toHaveLength(1);
    expect(await service.sql(`SELECT name_reads_as('Weather') = name_reads_as('Whether') AS same`)).toEqual([
      { same: false },
    ]);
  });
});
