import { solanaWallet, type Offer, type Wallet } from '@market/sdk';
import {
  eventually,
  startMarketplace,
  startSolanaNode,
  type ProcessName,
  type RunningMarketplace,
  type SolanaNode,
} from '@market/testing';
import { createKeyPairSignerFromBytes } from '@solana/kit';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import bs58 from 'bs58';
import { signedOnSolana, withComputeBudget } from '../../../payments-ledger/test/support/solana-ledger.js';
import { admin } from '../support/admin.js';
import { expectBooksInOrder } from '../support/books.js';
import { quote } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, reply, type Shop } from '../support/seller.js';

const PRICE = 0.25;

/**
 * Uses a local Solana runtime, stock clients, and the facilitator package in the marketplace's process. The facilitator
 * pays fees and holds none of the payments.
 */
inEachMode('signed payments on Solana', ({ mode }) => {
  const victims: ProcessName[] = mode === 'standalone' ? ['standalone'] : ['payments-ledger', 'gateway'];
  const [feeWallet, feePayer, payer] = [solanaWallet(), solanaWallet(), solanaWallet()];
  let node: SolanaNode;
  let marketplace: RunningMarketplace;
  let env: Record<string, string>;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;

  beforeAll(async () => {
    node = await startSolanaNode();
    node.setLamports(feePayer.address, 10n ** 12n);
    await node.fund(payer.address, 10n ** 9n);
    await node.openTokenAccount(feeWallet.address);
    env = {
      PAYMENTS_LEDGER_X402_CHAINS: `${node.network}=${node.url}`,
      PAYMENTS_LEDGER_X402_FACILITATOR_SOLANA_KEY: feePayer.exportKey() as string,
      PAYMENTS_LEDGER_FEE_SOLANA_ADDRESS: feeWallet.address,
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
    };
    marketplace = await startMarketplace({ mode, env });
    seller = await registerAgent(marketplace, { wallet: solanaWallet(), displayName: 'Seller' });
    await node.openTokenAccount(seller.wallet.address);
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
    shop = await openShop(seller, ({ body }) => ('fail' in (body as object) ? reply(500, {}) : { echo: body }), {
      pricing_amount: PRICE,
    });
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop]);
    await shop?.close();
    await marketplace?.stop();
    await node?.stop();
  }, 120_000);

  const clientOf = async (wallet: Wallet): Promise<x402Client> =>
    new x402Client().register(
      'solana:*',
      new ExactSvmScheme(await createKeyPairSignerFromBytes(bs58.decode(wallet.exportKey() as string)), {
        rpcUrl: node.url,
      }),
    );
  const buy = async (body: object, keyed: boolean): Promise<Response> =>
    wrapFetchWithPayment(fetch, await clientOf(payer))(
      `${marketplace.baseUrl}/api/v1/${keyed ? 'gateway' : 'x402'}/${shop.listing.slug}`,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(keyed
            ? { authorization: buyer.registration.authorization_header, 'X-Market-Origin-Chain-Id': node.network }
            : {}),
        },
        body: JSON.stringify(body),
      },
    );
  const received = (): Promise<bigint> => node.balanceOf(seller.wallet.address);

  it.each([true, false])(
    'buy a call for a stock x402 client (with a key: %s), settled after the answer',
    async (keyed) => {
      const before = await received();
      const response = await buy({ keyed }, keyed);
      expect(await response.json()).toMatchObject({
        success: true,
        data: { billable: true, seller_response: { echo: { keyed } } },
      });
      const settled = new x402HTTPClient(new x402Client()).getPaymentSettleResponse((name) =>
        response.headers.get(name),
      );
      expect(settled).toMatchObject({ success: true, network: node.network, payer: payer.address });
      expect((await received()) - before).toBe(250_000n);
      expect((await seller.market.receipts.list({ role: 'seller' })).data[0]).toMatchObject({
        transaction_hash: settled.transaction,
        gross_amount: PRICE,
      });
    },
  );

  it.each([true, false])('take nothing for what the seller did not deliver (with a key: %s)', async (keyed) => {
    const before = await received();
    const response = await buy({ fail: keyed }, keyed);
    expect(await response.json()).toMatchObject({ success: true, data: { billable: false, seller_status_code: 500 } });
    expect(await received()).toBe(before);
  });

  it.each([true, false])(
    'are refused before the seller is called where they would cost the operator more than the sale brings (with a key: %s)',
    async (keyed) => {
      const url = `${marketplace.baseUrl}/api/v1/${keyed ? 'gateway' : 'x402'}/${shop.listing.slug}`;
      const headers = {
        'content-type': 'application/json',
        ...(keyed ? { authorization: buyer.registration.authorization_header } : {}),
      };
      const post = (more: Record<string, string> = {}): Promise<Response> =>
        fetch(url, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ costly: keyed }) });
      const { data } = (await (await post()).json()) as { data: { payment: Offer } };
      const x402 = data.payment.x402!.accepts.find(({ network }) => network === node.network);
      const signer = await createKeyPairSignerFromBytes(bs58.decode(payer.exportKey() as string));
      const signed = await signedOnSolana({ offer: { x402 } } as never, signer, node.url);
      const costly = await withComputeBudget(signed, signer, 1_400_000, 5_000_000n);
      const before = [shop.requests.length, await received()];
      const answer = await post({ 'payment-signature': Buffer.from(costly).toString('base64') });
      expect([answer.status, await answer.json()]).toMatchObject([
        402,
        { error: { details: { reason: 'settlement_too_costly' } } },
      ]);
      expect([shop.requests.length, await received()]).toEqual(before);
    },
  );

  it('are offered with the memo that the chain will keep, and listed in the discovery', async () => {
    const offer = await quote(buyer, shop.listing, { by: 'memo' }, { 'X-Market-Origin-Chain-Id': node.network });
    expect(offer).toMatchObject({
      provider: 'x402-solana',
      requirements: { depositAddress: null },
    });
    expect(offer.x402!.accepts[0]).toMatchObject({
      payTo: seller.wallet.address,
      extra: { feePayer: feePayer.address, memo: offer.relay_request_id },
    });
    const discovered = await fetch(
      `${marketplace.baseUrl}/api/v1/discovery/resources?network=${node.network}&payTo=${seller.wallet.address}`,
    );
    expect(await discovered.json()).toMatchObject({
      items: [
        {
          accepts: expect.arrayContaining([
            expect.objectContaining({ network: node.network, extra: { feePayer: feePayer.address } }),
          ]) as unknown,
        },
      ],
    });
  });

  it.each([...Array(victims.length).keys()])(
    'charge once where a process is killed while it settles (%s)',
    async (at) => {
      const before = await received();
      let killed: Promise<unknown> | undefined;
      node.onRequest = async (method) => {
        if (method !== 'sendTransaction' || killed) return undefined;
        killed = marketplace.kill(victims[at]!).then(() => marketplace.restart(victims[at]!));
        await new Promise((resolve) => setTimeout(resolve, 100));
        return 'swallow';
      };
      await buy({ killed: at }, true).catch(() => undefined);
      await killed;
      node.onRequest = undefined;
      await eventually(async () => expect((await received()) - before).toBe(250_000n), { withinMs: 30_000 });
      await eventually(
        async () => {
          const { data } = await seller.market.receipts.list({ role: 'seller', limit: 50 });
          expect(data.reduce((sum, { gross_amount }) => sum + Math.round(gross_amount * 1e6), 0)).toBe(
            Number(await received()),
          );
        },
        { withinMs: 30_000 },
      );
    },
    180_000,
  );

  it('make the fee a debt of the seller, who pays it on Solana with a stock client', async () => {
    const { fees } = await seller.market.balance();
    expect(BigInt(fees.due.micros)).toBe((await received()) / 20n);
    const paid = await wrapFetchWithPayment(fetch, await clientOf(seller.wallet))(
      `${marketplace.baseUrl}/api/v1/fees/payments`,
      { method: 'POST', headers: { authorization: seller.registration.authorization_header } },
    );
    expect([paid.status, await paid.json()]).toMatchObject([200, { data: { amount: fees.due, due: { usd: 0 } } }]);
    expect(await node.balanceOf(feeWallet.address)).toBe(BigInt(fees.due.micros));
  });

  it('leave the books in order', async () => {
    expect(await admin({ DATABASE_URL: marketplace.databaseUrl, ...env }, 'books', 'verify')).toMatchObject({
      code: 0,
      output: 'the books add up',
    });
  });
});
