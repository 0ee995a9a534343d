import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { readFile } from 'node:fs/promises';
import type { Address } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import { expectBooksInOrder } from '../support/books.js';
import { admin } from '../support/admin.js';
import { inOneMode, registerAgent } from '../support/harness.js';
import { attemptListing, perCall } from '../support/listings.js';
import { jsonPost, payingFetch } from '../support/stock-client.js';
import { openShop } from '../support/seller.js';

const BASE = 8_453;
const USDC: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const ENCRYPTED = { ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` };
const PAGE = new URL('../../../../docs/going-live.md', import.meta.url);

/** The settings that the page shows, with what a reader fills in. */
async function settingsOf(filled: Record<string, string>): Promise<Record<string, string>> {
  const [, block = ''] = /```sh\n([^`]+)```/.exec(await readFile(PAGE, 'utf8'))!;
  const shown = block
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/=(.*)/s, 2) as [string, string]);
  const names = shown.map(([name]) => name);
  expect(names).toEqual(expect.arrayContaining(Object.keys(filled)));
  return Object.fromEntries(shown.map(([name, value]) => [name, filled[name] ?? value]));
}

inOneMode('a marketplace that went live as its page says', ({ mode }) => {
  let chain: EvmHarness;
  let settings: Record<string, string>;

  beforeAll(async () => {
    chain = await startEvmHarness(BASE);
    await chain.place('SignedToken', USDC);
    const shown = await settingsOf({
      PAYMENTS_RPC_URL: chain.node.url,
      PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
      PAYMENTS_LEDGER_FEE_ADDRESS: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 9).toString('base64'),
    });
    // The token of the test has the name of Circle's on a test network.
    settings = { ...shown, PAYMENTS_LEDGER_X402_EIP712: `eip155:${BASE}=USDC:2` };
  }, 240_000);
  afterAll(() => chain?.stop());

  const started = async (env: Record<string, string>, use: (marketplace: RunningMarketplace) => Promise<void>) => {
    const marketplace = await startMarketplace({ mode, env });
    await use(marketplace).finally(() => marketplace.stop());
  };

  it(
    'asks for USDC on Base, takes no play money, and its doctor is content',
    () =>
      // Empty is absent: the preset decides.
      started({ ...settings, PAYMENTS_MODE: '', ALLOW_PRIVATE_ENDPOINTS: 'false' }, async (marketplace) => {
        const seller = await registerAgent(marketplace);
        const { json } = await attemptListing(seller, perCall({ private_endpoint_url: 'https://1.1.1.1/call' }));
        const { slug } = (json as { data: { slug: string } }).data;
        const asked = await fetch(`${marketplace.baseUrl}/api/v1/x402/${slug}`, { method: 'POST' });
        expect([asked.status, await asked.json()]).toMatchObject([
          402,
          { data: { payment: { x402: { accepts: [{ network: `eip155:${BASE}`, asset: USDC }] } } } },
        ]);
        expect(
          (await fetch(`${marketplace.baseUrl}/api/v1/sandbox/payments/0x${'a'.repeat(64)}/pay`, { method: 'POST' }))
            .status,
        ).toBe(404);
        const { code, output } = await admin(
          { ...settings, ...ENCRYPTED, DATABASE_URL: marketplace.databaseUrl, MIGRATE_ON_START: 'false' },
          'doctor',
          '--service',
          'payments-ledger',
        );
        expect([code, output]).toEqual([0, expect.stringContaining('well')]);
      }),
    240_000,
  );

  it(
    'sells for a cent, into the wallet of its seller, and its books are right',
    () =>
      // The seller of a test listens on this machine, which a marketplace that is live does not call.
      started({ ...settings, PAYMENTS_MODE: 'sandbox' }, async (marketplace) => {
        const seller = await registerAgent(marketplace);
        const shop = await openShop(seller, ({ body }) => ({ echo: body }), { pricing_amount: 0.01 });
        const account = privateKeyToAccount(generatePrivateKey());
        await chain.send(USDC, 'mint', [account.address, 1_000_000n]);
        const answer = await payingFetch(account)(
          `${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`,
          jsonPost({ live: true }),
        );
        expect([answer.status, await answer.json()]).toMatchObject([200, { data: { billable: true } }]);
        expect(await chain.balanceOf(USDC, seller.wallet.address as Address)).toBe(10_000n);
        await expectBooksInOrder(marketplace, [shop]);
        for (const words of ['verify', 'reconcile']) {
          const { code, output } = await admin(
            { ...settings, PAYMENTS_MODE: 'sandbox', DATABASE_URL: marketplace.databaseUrl, MIGRATE_ON_START: 'false' },
            'books',
            words,
          );
          expect([words, code, output]).toEqual([words, 0, expect.any(String)]);
        }
        await shop.close();
      }),
    240_000,
  );
});
