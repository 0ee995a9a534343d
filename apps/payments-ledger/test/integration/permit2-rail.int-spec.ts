import type { Usage } from '@market/kernel';
import { eventually } from '@market/testing';
import { PERMIT2_ADDRESS } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import type { Address } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { payoutOf } from '../../../gateway/test/support/fake-wallets.js';
import {
  asAuthorized,
  BRIEFLY_MS,
  newOrder,
  reasonOf,
  type Authorized,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { movedTo, type Signer } from '../support/signed-payload.js';
import { ON_CHAIN, startX402Ledger, type X402Ledger } from '../support/x402-ledger.js';

const PAGES: Usage = { unit: 'page', per: 1, tiers: [{ up_to: null, price: 0.01 }] };

/** What is signed for Permit2, by stock clients, and settled by the public facilitator's code. */
describe.each([
  ['upto, for what a call used', 'SignedToken', 'upto', PAGES, 70_000n],
  ['exact, of a token that takes no signatures itself', 'PlainToken', 'exact', undefined, 250_000n],
] as const)('signatures of %s', (_what, token, scheme, usage, moved) => {
  let harness: X402Ledger;
  beforeAll(async () => {
    harness = await startX402Ledger(
      {
        PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100',
        PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '100',
        PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '1500',
        PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS: '3000',
      },
      { token, withPermit2: true },
    );
    // The facilitator has to say first by which account it settles.
    await eventually(async () => expect((await quoted())[1].offer.x402[0]).toMatchObject({ scheme }));
  });
  afterEach(() => {
    harness.facilitator.fault = null;
    harness.facilitator.lie = null;
  });
  afterAll(() => harness.stop());

  const quoted = async (): Promise<[Order, Offered]> => {
    const order = newOrder();
    return [order, await harness.ledger.quote(order, { ...ON_CHAIN, usage })];
  };
  const sign = async ({ offer }: Offered, account: Signer = harness.chain.payerAccount as never): Promise<string> => {
    const accepted = offer.x402[0]!;
    const client = scheme === 'upto' ? new UptoEvmScheme(account) : new ExactEvmScheme(account);
    const { payload } = await client.createPaymentPayload(2, accepted as never);
    return JSON.stringify({ x402Version: 2, accepted, payload });
  };
  const held = async (): Promise<{ order: Order; offered: Offered; authorization: string; claim: Authorized }> => {
    const [order, offered] = await quoted();
    const authorization = await sign(offered);
    const claim = asAuthorized(await harness.ledger.authorize(order, offered, { authorization }));
    return { order, offered, authorization, claim };
  };
  const settle = (claim: Authorized, budgetMs?: number) =>
    harness.ledger.settle(claim, { units: usage && 7 }, budgetMs);
  const receivedFor = ({ listing }: Order): Promise<bigint> =>
    harness.chain.balanceOf(harness.usdc, payoutOf(listing.sellerId));
  const nonceOf = (authorization: string): bigint =>
    BigInt(
      (JSON.parse(authorization) as { payload: { permit2Authorization: { nonce: string } } }).payload
        .permit2Authorization.nonce,
    );
  const completed = (claim: Authorized): Promise<void> =>
    eventually(async () => expect(await harness.ledger.stateOf(claim.paymentId)).toBe('completed'), {
      withinMs: 20_000,
    });

  it('move the money when the answer is settled, and once', async () => {
    const { order, claim } = await held();
    const { transfer } = await settle(claim);
    expect(await settle(claim)).toMatchObject({ transfer });
    expect(await receivedFor(order)).toBe(moved);
    expect(await harness.chain.node.request('eth_getTransactionReceipt', [transfer!.transaction])).toMatchObject({
      status: '0x1',
    });
  });

  it.each([
    'break-before',
    'break-after',
    'nonsense-after',
    'nameless',
    'late',
    'reset-after',
    'fail-after',
    'pending-500',
  ] as const)('are charged for once where the facilitator did %s', async (fault) => {
    const { order, claim } = await held();
    harness.facilitator.fault = fault;
    harness.facilitator.times = fault === 'break-before' ? 1 : Infinity;
    await settle(claim).catch((error: unknown) => expect(error).toMatchObject({ reason: 'settlement_unknown' }));
    await completed(claim);
    harness.facilitator.times = Infinity;
    expect(await receivedFor(order)).toBe(moved);
  });

  it('are charged for once where the request was lost while the facilitator worked, and others ask again', async () => {
    const { order, offered, claim } = await held();
    harness.facilitator.fault = 'hang-after';
    await settle(claim, BRIEFLY_MS).catch((error: unknown) =>
      expect(error).toMatchObject({ reason: 'settlement_unknown' }),
    );
    await completed(claim);
    expect(await harness.ledger.authorize(order, offered)).toMatchObject({ outcome: 'completed' });
    expect(await receivedFor(order)).toBe(moved);
  });

  it('charge nothing on the word of a facilitator that names another transaction, and once for what it settles then', async () => {
    const earlier = await held();
    const { transfer } = await settle(earlier.claim);
    const { order, claim } = await held();
    harness.facilitator.lie = transfer!.transaction;
    expect(await reasonOf(settle(claim, BRIEFLY_MS))).toBe('settlement_unknown');
    expect([await harness.ledger.stateOf(claim.paymentId), await receivedFor(order)]).toEqual(['indeterminate', 0n]);
    harness.facilitator.lie = null;
    await completed(claim);
    expect(await receivedFor(order)).toBe(moved);
  });

  it('pay one call: what was used, or is held, pays no other', async () => {
    const { authorization, claim } = await held();
    for (const settleFirst of [false, true]) {
      if (settleFirst) await settle(claim);
      const [order, offered] = await quoted();
      expect(await harness.ledger.authorize(order, offered, { authorization })).toMatchObject({ outcome: 'rejected' });
      expect(
        await harness.ledger.authorize(order, offered, { authorization: movedTo(offered, authorization) }),
      ).toMatchObject({ outcome: 'rejected' });
    }
  });

  it('charge nothing for what their payer took back, once that is sure', async () => {
    const { order, offered, claim, authorization } = await held();
    const nonce = nonceOf(authorization);
    await harness.chain.send(PERMIT2_ADDRESS, 'invalidateUnorderedNonces', [nonce >> 8n, 1n << (nonce & 255n)]);
    expect(await reasonOf(settle(claim, BRIEFLY_MS))).toBe('settlement_unknown');
    await harness.chain.pass(700);
    await eventually(async () => expect(await harness.ledger.stateOf(claim.paymentId)).toBe('pending'), {
      withinMs: 20_000,
    });
    expect(await harness.ledger.authorize(order, offered, { authorization })).toMatchObject({ outcome: 'rejected' });
  });

  it('are refused before the seller is called where Permit2 may not move the money, or there is none', async () => {
    const poor = privateKeyToAccount(generatePrivateKey());
    const reason = async (): Promise<unknown> => {
      const [order, offered] = await quoted();
      const authorization = await sign(offered, poor);
      return (await harness.ledger.authorize(order, offered, { authorization })) as unknown;
    };
    expect(await reason()).toMatchObject({ outcome: 'rejected', reason: 'permit2_insufficient_balance' });
    await harness.chain.send(harness.usdc, 'transfer', [poor.address as Address, 1_000_000n]);
    expect(await reason()).toMatchObject({ outcome: 'rejected', reason: 'permit2_allowance_required' });
  });

  it('of another than the payer are refused', async () => {
    const [order, offered] = await quoted();
    const other = privateKeyToAccount(generatePrivateKey());
    const authorization = await sign(offered, { ...other, address: harness.chain.payer } as never);
    expect(await harness.ledger.authorize(order, offered, { authorization })).toMatchObject({
      outcome: 'rejected',
      reason: 'invalid_permit2_signature',
    });
  });
});
