import { sandboxPayer, x402Payer, type CallResult } from '@market/sdk';
import { startMarketplace, type ProcessName, type RunningMarketplace } from '@market/testing';
import { privateKeyToAccount, generatePrivateKey } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const BUYERS = 10;
const CALLS = 50;

inEachMode('the SDK while services restart', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let shop: Shop;
  let buyers: Agent[];

  beforeAll(async () => {
    // On a busy machine a seller may be late and would soon count as failing.
    marketplace = await startMarketplace({ mode, env: { GATEWAY_FAILING_AFTER: '1000' } });
    shop = await openShop(await registerAgent(marketplace, { displayName: 'Seller' }));
    buyers = await Promise.all(Array.from({ length: BUYERS }, () => registerAgent(marketplace)));
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
  }, 120_000);

  const victims: ProcessName[] =
    mode === 'standalone' ? ['standalone'] : ['gateway', 'payments-ledger', 'api-gateway', 'nats'];

  it.each(victims)(
    `none of ${CALLS} calls fails and each is charged once while %s is killed and comes back`,
    async (victim) => {
      const before = await receipts();
      let killing: Promise<void> | undefined;
      let done = 0;
      const answers = buyers.map(async ({ market }, n) => {
        const pay =
          n % 2 ? sandboxPayer(market) : x402Payer(privateKeyToAccount(generatePrivateKey()), { 'eip155:84532': {} });
        const results: CallResult[] = [];
        for (let call = 0; call < CALLS / BUYERS; call += 1) {
          results.push(await market.call(shop.listing, { victim, n, call }, { pay }));
          // The first calls are answered; the others are in progress or have not started.
          if ((done += 1) === 3) killing = marketplace.kill(victim).then(() => marketplace.restart(victim));
        }
        return results;
      });
      const results = (await Promise.all(answers)).flat();
      await killing;
      expect(results.filter(({ billable }) => billable)).toHaveLength(CALLS);
      expect((await receipts()) - before).toBe(CALLS);
      await expectBooksInOrder(marketplace, [shop]);
    },
    480_000,
  );

  const receipts = async (): Promise<number> => {
    const pages = buyers.map(({ market }) => market.receipts.list({ role: 'buyer' }));
    return (await Promise.all(pages)).reduce((sum, { pagination }) => sum + pagination.total, 0);
  };
});
