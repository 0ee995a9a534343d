import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import { fees, newShop, sale, subscription, type Shop } from '../support/market.js';
import { startReputation, type ReputationService } from '../support/reputation-service.js';

describe('the popularity of listings', () => {
  let service: ReputationService;

  beforeAll(async () => {
    service = await startReputation();
  });
  afterAll(() => service.stop());

  const latest = ({ listingId }: Shop) =>
    service.measured
      .filter((measured) => measured.listingId === listingId)
      .reduce((last, next) => (next.version > last.version ? next : last), { version: 0, popularity: 0 });
  /** Waits until nothing is to be measured. */
  const measured = (): Promise<void> =>
    eventually(async () => expect(await service.sql('SELECT FROM popularity_due')).toEqual([]));
  const popularity = async (shop: Shop): Promise<number> => {
    await measured();
    const [row] = await service.sql<{ popularity: number }>(
      'SELECT popularity FROM listing_popularity WHERE listing_id = $1',
      [shop.listingId],
    );
    await eventually(() => expect(latest(shop).popularity).toBe(row!.popularity));
    return row!.popularity;
  };

  it('is told as facts come and fees arrive, by each listing apart, and a repeated event changes nothing', async () => {
    const shop = newShop();
    const other = newShop(shop.sellerId);
    const [first, second] = [sale(shop, newId()), sale(shop, newId())];
    await service.deliver([first, sale(other, newId(), { micros: 1_000n })]);
    const one = await popularity(shop);
    expect(await popularity(other)).toBeLessThan(one);
    await service.deliver([second]);
    const two = await popularity(shop);
    expect(two).toBeGreaterThan(one);
    await service.deliver([fees(shop, 5_000n)]);
    const paid = await popularity(shop);
    expect(paid).toBeGreaterThan(two);
    const { version } = latest(shop);
    await service.sql('DELETE FROM inbox');
    await service.deliver([second, first]);
    await measured();
    expect([latest(shop).version, await popularity(shop)]).toEqual([version, paid]);
  });

  it('is not to be had by many purchases of one, by new wallets, or for nothing', async () => {
    const [real, tiny, fresh, free] = [newShop(), newShop(), newShop(), newShop()];
    const buyers = [newId(), newId()];
    const [spender] = buyers as [string];
    await service.deliver([
      ...buyers.flatMap((buyer) => [
        sale(real, buyer, { micros: 250_000n }),
        sale(newShop(), buyer, { micros: 1_000_000n }),
      ]),
      ...Array.from({ length: 200 }, () => sale(tiny, spender, { micros: 1_000n })),
      ...Array.from({ length: 60 }, () => sale(fresh, newId(), { micros: 1_000_000n })),
      ...Array.from({ length: 500 }, () => subscription(free, newId())),
    ]);
    const found: number[] = [];
    for (const shop of [real, fresh, tiny, free]) found.push(await popularity(shop));
    expect(found).toEqual([...found].sort((a, b) => b - a));
    expect(found[0]).toBeGreaterThan(found[1]!);
  });
});
