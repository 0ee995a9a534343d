import { used } from '@market/sdk/seller';
import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import { x402Client, x402HTTPClient } from '@x402/fetch';
import { EventEmitter, once } from 'node:events';
import { parseUnits, type Address } from 'viem';
import { startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import { admin } from '../support/admin.js';
import { expectBooksInOrder } from '../support/books.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';
import { counting, jsonPost, payingFetch, payingUpto } from '../support/stock-client.js';

const CHAIN_ID = 84_532;
/** The address at which stock clients expect USDC of Base Sepolia; here it is a token that takes no signatures itself. */
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const usage = { unit: 'page', tiers: [{ up_to: null, price: 0.01 }] };

/** Uses a local chain with Permit2, stock clients, and the facilitator packages in the marketplace's process. */
inEachMode('signatures for Permit2 on a chain', ({ mode }) => {
  let chain: EvmHarness;
  let marketplace: RunningMarketplace;
  let onChain: Record<string, string>;
  let [seller, buyer]: Agent[] = [];
  let [byUse, byCall]: Shop[] = [];
  const asked = new EventEmitter();

  beforeAll(async () => {
    chain = await startEvmHarness(CHAIN_ID);
    await chain.place('PlainToken', USDC);
    await chain.placePermit2(USDC);
    await chain.send(USDC, 'mint', [chain.payer, parseUnits('1000', 6)]);
    onChain = {
      PAYMENTS_LEDGER_X402_CHAINS: `eip155:${CHAIN_ID}=${chain.node.url}`,
      PAYMENTS_LEDGER_FEE_ADDRESS: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
      PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
      PAYMENTS_LEDGER_SAMPLE_INTERVAL_MS: '250',
    };
    marketplace = await startMarketplace({ mode, env: onChain });
    [seller, buyer] = await Promise.all([registerAgent(marketplace), registerAgent(marketplace)]);
    const work = async ({ body }: { body: unknown }): Promise<unknown> => {
      const { slow, pages } = body as { slow?: true; pages?: number };
      if (slow) asked.emit('asked', body);
      return pages === undefined ? { echo: body } : used(pages, { echo: body });
    };
    byUse = await openShop(seller!, work, { pricing_amount: 0.5, usage });
    byCall = await openShop(seller!, work, { pricing_amount: 0.25 });
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [byUse!, byCall!]);
    await Promise.all([byUse?.close(), byCall?.close()]);
    await marketplace?.stop();
    await chain?.stop();
  }, 120_000);

  const received = (): Promise<bigint> => chain.balanceOf(USDC, seller!.wallet.address as Address);
  const urlOf = (shop: Shop, key: string): string =>
    `${marketplace.baseUrl}/api/v1/${key === 'a key' ? 'gateway' : 'x402'}/${shop.listing.slug}`;
  const headersFor = (key: string): Record<string, string> =>
    key === 'a key'
      ? { authorization: buyer!.registration.authorization_header, 'X-Market-Origin-Chain-Id': String(CHAIN_ID) }
      : {};

  it.each([
    ['upto', 'a key', 70_000n, 7],
    ['upto', 'no key', 70_000n, 7],
    ['exact', 'a key', 250_000n, undefined],
    ['exact', 'no key', 250_000n, undefined],
  ] as const)('buy a call for a stock client of %s that has %s, and move %d', async (scheme, key, moved, pages) => {
    const before = await received();
    const account = chain.payerAccount as never;
    const { send, sent } = counting();
    const paying = scheme === 'upto' ? payingUpto(account, send) : payingFetch(account, send);
    const shop = scheme === 'upto' ? byUse! : byCall!;
    const answer = await paying(urlOf(shop, key), jsonPost({ key, pages }, headersFor(key)));
    const expected = { billable: true, charged_amount: { amount_cents: Number(moved) / 10_000 } };
    expect([answer.status, await answer.json()]).toMatchObject([200, { data: expected }]);
    const settled = new x402HTTPClient(new x402Client()).getPaymentSettleResponse((name) => answer.headers.get(name));
    const mined = await chain.node.request<{ gasUsed: string }>('eth_getTransactionReceipt', [settled.transaction]);
    expect(mined).toMatchObject({ status: '0x1' });
    // The first payment to an address makes its balance, which costs 17,100 more.
    const most = before === 0n ? 92_000 + 17_100 : 92_000;
    expect([sent(), Number(mined.gasUsed) <= most]).toEqual([2, true]);
    expect((await received()) - before).toBe(moved);
  });

  it.each(['upto', 'exact'] as const)(
    'of %s are charged for once, whatever is killed in the middle, and the same signature gets the answer',
    async (scheme) => {
      const client = new x402Client();
      const account = chain.payerAccount as never;
      client.register('eip155:*', scheme === 'upto' ? new UptoEvmScheme(account) : new ExactEvmScheme(account));
      const shop = scheme === 'upto' ? byUse! : byCall!;
      const body = { slow: true, scheme, ...(scheme === 'upto' ? { pages: 7 } : {}) };
      const ask = (headers: Record<string, string> = {}): Promise<Response> =>
        fetch(urlOf(shop, 'no key'), jsonPost(body, headers));
      const required = await ask();
      const signature = await client.createPaymentPayload(
        new x402HTTPClient(client).getPaymentRequiredResponse(
          (name) => required.headers.get(name),
          await required.json(),
        ),
      );
      const signed = { 'payment-signature': Buffer.from(JSON.stringify(signature)).toString('base64') };
      const before = await received();
      const calling = once(asked, 'asked');
      const lost = ask(signed).catch(() => null);
      await calling;
      const victim = mode === 'standalone' ? 'standalone' : 'payments-ledger';
      await marketplace.kill(victim);
      await lost;
      await marketplace.restart(victim);
      let answer = await ask(signed).catch(() => null);
      for (const until = Date.now() + 60_000; answer?.status !== 200 && Date.now() < until;)
        answer = await ask(signed).catch(() => null);
      expect([answer?.status, await answer?.json()]).toMatchObject([200, { data: { billable: true } }]);
      expect((await received()) - before).toBe(scheme === 'upto' ? 70_000n : 250_000n);
    },
    180_000,
  );

  it('leave the books in order, and nothing open', async () => {
    for (const command of [
      ['payments', 'report'],
      ['books', 'verify'],
    ])
      expect(await admin({ DATABASE_URL: marketplace.databaseUrl, ...onChain }, ...command)).toMatchObject({ code: 0 });
  });
});
