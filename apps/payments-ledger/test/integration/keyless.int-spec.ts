import { openPayerAccount } from '@market/contracts/identity';
import { openKeylessPayment, quoteKeyless } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { inProcessTransport, newRequestContext } from '@market/messaging';
import { connectFake } from '@market/testing';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { startFakeWallets, type FakeWallets } from '../../../gateway/test/support/fake-wallets.js';
import {
  asAuthorized,
  newOrder,
  startLedger,
  type Authorized,
  type LedgerHarness,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { movedTo, signed } from '../support/signed-payload.js';

type Opened = Extract<OutputOf<typeof openKeylessPayment>, { outcome: 'opened' }>;

const PRICE = 250_000n;

describe('a keyless payment', () => {
  const transport = inProcessTransport();
  const accounts = new Map<string, string>();
  let harness: LedgerHarness;
  let wallets: FakeWallets;
  let identity: Awaited<ReturnType<typeof connectFake>>;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2, transport });
    wallets = await startFakeWallets(transport);
    identity = await connectFake(transport, 'identity', openPayerAccount, ({ walletAddress }) => {
      if (!accounts.has(walletAddress)) accounts.set(walletAddress, newId());
      return { accountId: accounts.get(walletAddress)!, mayPay: true };
    });
  });
  afterAll(async () => {
    await harness.stop();
    await wallets.stop();
    await identity.server.close();
  });

  const offered = async (payer: PrivateKeyAccount, order: Order): Promise<InputOf<typeof openKeylessPayment>> => {
    const { listing, priceMicros, bodyDigest } = order;
    const { offers } = await harness.gateway.request(quoteKeyless, { listing, priceMicros }, newRequestContext());
    const authorization = await signed({ offer: offers[0] } as unknown as Offered, payer);
    const call = { gatewayRequestId: newId(), listing, bodyDigest, callMs: 60_000 };
    return { ...call, authorization, mayOpen: true };
  };
  const open = async (input: InputOf<typeof openKeylessPayment>): Promise<Opened> => {
    const opened = await harness.gateway.request(openKeylessPayment, input, newRequestContext());
    if (opened.outcome !== 'opened') throw new Error(`it is ${JSON.stringify(opened)}`);
    return opened;
  };
  const newPayer = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey());
  const claimOf = ({ authorized }: Opened): Authorized => {
    if (!authorized) throw new Error('its call was not authorized');
    return authorized;
  };
  const settledBaseUnitsOf = async ({ address }: PrivateKeyAccount): Promise<bigint> => {
    const [row] = await harness.db.inspect<{ settled_base_units: string }>(
      'SELECT settled_base_units FROM payments_ledger.payers WHERE payer = $1',
      [address.toLowerCase()],
    );
    return BigInt(row?.settled_base_units ?? 0);
  };

  it('authorizes its call when it is opened, and found again when it is opened again', async () => {
    const [payer, order] = [newPayer(), newOrder()];
    const input = await offered(payer, order);
    const opened = await open(input);
    const claim = claimOf(opened);
    expect(claim).toMatchObject({ isSigned: true, transactionHash: null });
    expect(claim.gatewayRequestId).toBe(input.gatewayRequestId);
    expect(
      await harness.db.inspect(
        'SELECT state, in_use_until > now() AS in_use FROM payments_ledger.payments WHERE id = $1',
        [claim.paymentId],
      ),
    ).toEqual([{ state: 'verified', in_use: true }]);

    // The answer was lost, so the same request is sent again.
    expect((await open(input)).authorized).toEqual(claim);
    const again = await open({ ...input, gatewayRequestId: newId() });
    expect(again).toEqual(opened);
    const asBuyer = { ...order, buyer: opened.buyerId };
    expect(await harness.authorize(asBuyer, opened as unknown as Offered)).toEqual(claim);
    await harness.settle(claim);
    expect(await settledBaseUnitsOf(payer)).toBe(PRICE);
  });

  it('is opened once by 32 who hand it in together, over two processes', async () => {
    const input = await offered(newPayer(), newOrder());
    const opened = await Promise.all(Array.from({ length: 32 }, () => open({ ...input, gatewayRequestId: newId() })));
    expect(new Set(opened.map(({ gatewayRequestId }) => gatewayRequestId)).size).toBe(1);
    expect(new Set(opened.map(({ offer }) => offer.payment_id)).size).toBe(1);
  });

  it('is opened beside others that arrive with it, of which one signature pays two offers and two offers come twice', async () => {
    const payer = newPayer();
    const orders = Array.from({ length: 12 }, () => newOrder());
    const inputs = await Promise.all(orders.map((order, n) => offered(n % 2 === 0 ? payer : newPayer(), order)));
    const other = await offered(payer, { ...newOrder(), listing: orders[4]!.listing });
    const offerOf = ({ authorization }: typeof other): Offered =>
      ({ offer: { x402: (JSON.parse(authorization) as { accepted: unknown }).accepted } }) as Offered;
    const moved = { ...other, authorization: movedTo(offerOf(other), inputs[4]!.authorization) };
    const twice = { ...inputs[7]!, gatewayRequestId: newId() };
    const rival = { ...inputs[9]!, authorization: await signed(offerOf(inputs[9]!), newPayer()) };
    const outcomes = await Promise.all(
      [moved, ...inputs, twice, rival].map((input) =>
        harness.gateway.request(openKeylessPayment, input, newRequestContext()),
      ),
    );
    expect(outcomes.filter(({ outcome }) => outcome !== 'opened')).toEqual([
      { outcome: 'rejected', reason: 'invalid_exact_evm_nonce_already_used' },
      { outcome: 'rejected', reason: 'accepted_mismatch' },
    ]);
    const opened = outcomes.filter((outcome): outcome is Opened => outcome.outcome === 'opened');
    expect(new Set(opened.map(({ offer }) => offer.payment_id)).size).toBe(12);
  });

  it('is one payment for a call that its wallet signs for again, over two processes, until that is answered', async () => {
    const [payer, order] = [newPayer(), newOrder()];
    const inputs = await Promise.all(Array.from({ length: 16 }, () => offered(payer, order)));
    const opened = await Promise.all(inputs.map((input) => open(input)));
    expect(new Set(opened.map(({ offer }) => offer.payment_id)).size).toBe(1);
    expect(opened.filter(({ isJoined }) => !isJoined)).toHaveLength(1);
    const authorized = claimOf(opened.find(({ authorized }) => authorized)!);
    expect((await open(await offered(payer, order))).isJoined).toBe(true);
    expect((await open(await offered(payer, { ...newOrder(), listing: order.listing }))).isJoined).toBe(false);
    expect((await open(await offered(newPayer(), order))).isJoined).toBe(false);
    // Nobody waits for what a job settles, so the next signature gets its answer, and the one after that buys again.
    await harness.settle(authorized, { isResumed: true });
    const joined = await open(await offered(payer, order));
    expect([joined.isJoined, joined.offer.payment_id]).toEqual([true, authorized.paymentId]);
    const asBuyer = { ...order, buyer: joined.buyerId };
    expect(await harness.authorize(asBuyer, joined as unknown as Offered)).toMatchObject({ outcome: 'completed' });
    expect((await open(await offered(payer, order))).isJoined).toBe(false);
  });

  it('is no second payment of a wallet that pays the same call under the key of an account, or of two', async () => {
    const [payer, order] = [newPayer(), newOrder()];
    const accounts = [order, { ...order, buyer: newId() }];
    const keyed = await Promise.all(
      accounts.map(async (each) => {
        const quoted = await harness.quote(each);
        return { each, quoted, authorization: await signed(quoted, payer) };
      }),
    );
    const keyless = await offered(payer, order);
    const ask = ({ each, quoted, authorization }: (typeof keyed)[number]) =>
      harness.authorize(each, quoted, { authorization });
    const [first, second, third] = await Promise.all([ask(keyed[0]!), ask(keyed[1]!), open(keyless)]);
    const opened = await open(await offered(payer, order));
    expect(
      await harness.db.inspect('SELECT 1 FROM payments_ledger.authorizations WHERE payer = $1', [
        payer.address.toLowerCase(),
      ]),
    ).toHaveLength(1);
    const won = [first, second].map(({ outcome }) => outcome === 'authorized');
    for (const [n, { outcome }] of [first, second].entries()) expect(outcome).toBe(won[n] ? 'authorized' : 'under_way');
    expect([...won, !third.isJoined].filter(Boolean)).toHaveLength(1);
    // Whoever holds the wallet without a key gets the call that it pays.
    expect(opened.isJoined).toBe(true);
    const claim = { ...opened, paymentId: opened.offer.payment_id } as unknown as Authorized;
    await harness.settle(claim);
    expect((await ask({ ...keyed[won[0] ? 1 : 0]! })).outcome).toBe('authorized');
  });

  it('is held and its call not authorized while settlements of its payer come first, which the authorization then does', async () => {
    const payer = newPayer();
    await harness.settle(claimOf(await open(await offered(payer, newOrder()))));
    await harness.db.inspect('UPDATE payments_ledger.payers SET settles_first_since = now() WHERE payer = $1', [
      payer.address.toLowerCase(),
    ]);
    const order = newOrder();
    const opened = await open(await offered(payer, order));
    expect(opened.authorized).toBeNull();
    expect(await harness.stateOf(opened.offer.payment_id)).toBe('verified');
    const claim = asAuthorized(
      await harness.authorize({ ...order, buyer: opened.buyerId }, opened as unknown as Offered),
    );
    expect(claim.transactionHash).toMatch(/^0x[0-9a-f]{64}$/);
    // The settlement that came first succeeded, so the next call is simply authorized.
    expect(claimOf(await open(await offered(payer, newOrder()))).transactionHash).toBeNull();
  });

  it('is settled with others at once, each charged once, beside one that is unknown', async () => {
    const payers = [newPayer(), newPayer(), newPayer()];
    const inputs = await Promise.all(Array.from({ length: 24 }, (_, n) => offered(payers[n % 3]!, newOrder())));
    const claims = (await Promise.all(inputs.map(open))).map(claimOf);
    const lost = { ...claims[0]!, paymentId: newId() };
    await expect(harness.settle(lost)).rejects.toMatchObject({ reason: 'not_payable' });
    const settlements = await Promise.allSettled([lost, ...claims, ...claims].map((claim) => harness.settle(claim)));
    expect(settlements[0]).toMatchObject({ status: 'rejected' });
    const settled = settlements.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(new Set(settled.map(({ paymentId }) => paymentId)).size).toBe(24);
    for (const each of settlements.slice(1))
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ reason: 'settlement_unknown' });
    for (const payer of payers) expect(await settledBaseUnitsOf(payer)).toBe(8n * PRICE);
    for (const { paymentId } of claims) expect(await harness.stateOf(paymentId)).toBe('completed');
    expect(
      await harness.db.inspect(
        'SELECT count(*)::int AS transfers FROM payments_ledger.sandbox_transfers WHERE payment_id = ANY($1)',
        [claims.map(({ paymentId }) => paymentId)],
      ),
    ).toEqual([{ transfers: 24 }]);
  });
});
