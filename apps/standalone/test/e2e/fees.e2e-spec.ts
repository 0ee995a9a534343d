import { startMarketplace, eventually, type RunningMarketplace } from '@market/testing';
import { solanaWallet, type AccountEvent } from '@market/sdk';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import type { Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { admin } from '../support/admin.js';
import { callOnce, payFor, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { expectBooksInOrder } from '../support/books.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const SIGNING_KEYS = Buffer.alloc(32, 6).toString('base64');
const payWith = (key: Hex): typeof fetch =>
  wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key))));

/** In this marketplace a seller may not owe more than the fee of one call, with no grace period. */
inEachMode('a seller that owes fees', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let shop: Shop;
  let free: Shop;

  beforeAll(async () => {
    marketplace = await startMarketplace({
      mode,
      env: {
        PAYMENTS_LEDGER_SIGNING_KEYS: SIGNING_KEYS,
        PAYMENTS_LEDGER_FEE_CREDIT_LIMIT_MICROS: '12500',
        PAYMENTS_LEDGER_FEE_GRACE_DAYS: '0',
        PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
      },
    });
    seller = await registerAgent(marketplace, { displayName: 'Indebted' });
    [shop, free] = await Promise.all([
      openShop(seller, undefined, { name: 'Quokka facts', pricing_amount: 0.25 }),
      openShop(seller, undefined, { pricing_amount: 0 }),
    ]);
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop]);
    expect(
      await admin(
        { DATABASE_URL: marketplace.databaseUrl, PAYMENTS_LEDGER_SIGNING_KEYS: SIGNING_KEYS },
        'books',
        'verify',
      ),
    ).toMatchObject({
      code: 0,
      output: 'the books add up',
    });
    await Promise.all([shop?.close(), free?.close()]);
    await marketplace?.stop();
  }, 120_000);

  const url = (path: string): string => `${marketplace.baseUrl}/api/v1/${path}`;
  const get = async <T>(path: string): Promise<T> => {
    const answer = await fetch(url(path), { headers: { authorization: seller.registration.authorization_header } });
    return ((await answer.json()) as { data: T }).data;
  };
  const call = (pay: typeof fetch): Promise<Response> =>
    pay(url(`x402/${shop.listing.slug}`), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"about":"quokkas"}',
    });
  const feesOf = async () => (await seller.market.balance()).fees;
  const isFound = async (): Promise<boolean> => {
    const answer = await fetch(url('listings?q=quokka'));
    return ((await answer.json()) as { data: unknown[] }).data.length > 0;
  };

  it('is off the market with what costs something, and back when an unmodified x402 client has paid them in one go', async () => {
    const buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
    const body = { paid: 'before' };
    const relayRequestId = await payFor(buyer, shop.listing, body);
    for (let calls = 0; calls < 2; calls += 1) expect((await call(payWith(generatePrivateKey()))).status).toBe(200);
    await eventually(async () => expect((await feesOf()).status).toBe('overdue'), { withinMs: 20_000 });
    await eventually(async () =>
      expect(await get<AccountEvent[]>('events')).toContainEqual(
        expect.objectContaining({
          type: 'fees_near_limit',
          data: { due_usd: expect.any(Number), limit_usd: 0.0125 },
        }),
      ),
    );
    await eventually(async () => expect(await isFound()).toBe(false), { withinMs: 20_000 });
    expect((await feesOf()).due.usd).toBe(0.025);
    await eventually(async () => expect((await call(fetch)).status).not.toBe(402), { withinMs: 20_000 });
    const refused = await call(fetch);
    expect(refused.status).toBeLessThan(500);
    expect(await get(`listings/${free.listing.id}`)).toMatchObject({ status: 'active' });
    expect(await get(`listings/${shop.listing.id}`)).toMatchObject({ status: 'suspended' });
    // A call that was paid before is still delivered, but no further call is sold.
    const delivered = await callOnce(buyer, shop.listing, body, withRelayId(relayRequestId));
    expect(resultOf(delivered)).toMatchObject({ billable: true, seller_response: { echo: body } });
    const unpaid = await callOnce(buyer, shop.listing, { paid: 'not yet' });
    expect([unpaid.status, reasonOf(unpaid)]).toEqual([404, 'listing_not_found']);
    const late = await openShop(seller, undefined, { pricing_amount: 1 });
    expect(late.listing.status).toBe('suspended');

    const paid = await payWith(seller.wallet.exportKey() as Hex)(url('fees/payments'), {
      method: 'POST',
      headers: { authorization: seller.registration.authorization_header },
    });
    expect([paid.status, paid.headers.has('payment-response'), await paid.json()]).toMatchObject([
      200,
      true,
      { success: true, data: { status: 'completed', amount: { micros: '25000', usd: 0.025 }, due: { usd: 0 } } },
    ]);
    expect(await feesOf()).toMatchObject({ due: { usd: 0 }, paid: { usd: 0.025 }, status: 'good', pay_by: null });
    await eventually(async () => expect(await isFound()).toBe(true), { withinMs: 20_000 });
    await eventually(async () => expect((await call(fetch)).status).toBe(402), { withinMs: 20_000 });
    expect((await call(payWith(generatePrivateKey()))).status).toBe(200);
    expect(await get(`listings/${late.listing.id}`)).toMatchObject({ status: 'active' });
    await late.close();
  }, 240_000);

  it('is told what is wrong with a payment of them', async () => {
    const post = async (body: object, headers: Record<string, string> = {}): Promise<unknown> => {
      const answer = await fetch(url('fees/payments'), {
        method: 'POST',
        headers: {
          authorization: seller.registration.authorization_header,
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify(body),
      });
      const { error } = (await answer.json()) as { error: { details: { reason: string } } };
      return [answer.status, error.details.reason];
    };
    expect(await post({ amount_usd: 0 })).toEqual([400, 'request_invalid']);
    expect(await post({ amount_usd: -1 })).toEqual([400, 'request_invalid']);
    expect(await post({ amount_usd: 1_000 })).toEqual([400, 'more_than_due']);
    expect(await post({}, { 'payment-signature': 'nonsense' })).toEqual([400, 'request_invalid']);
  });

  it('without an EVM wallet is told at once that x402 cannot pay it', async () => {
    const other = await registerAgent(marketplace, { wallet: solanaWallet() });
    const theirs = await openShop(other, undefined, { pricing_amount: 0.5 });
    expect(theirs.listing).toMatchObject({ warnings: [{ code: 'payout_wallet_missing' }] });
    expect(shop.listing).not.toHaveProperty('warnings');
    const changed = await fetch(url(`listings/${theirs.listing.id}`), {
      method: 'PATCH',
      headers: { authorization: other.registration.authorization_header, 'content-type': 'application/json' },
      body: '{"pricing_amount":0.75}',
    });
    expect(await changed.json()).toMatchObject({ data: { warnings: [{ code: 'payout_wallet_missing' }] } });
    await theirs.close();
  });
});
