import {
  confirmRefund,
  listRefunds,
  payFees,
  quoteExact,
  quoteKeyless,
  subscribe,
  verifyPayment,
  type RefundView,
} from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { runCommand } from '@market/runtime';
import { eventually } from '@market/testing';
import { createSolanaRpc, type Base64EncodedWireTransaction, type KeyPairSigner } from '@solana/kit';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { toHeld, type AuthorizationRow } from '../../src/payments/authorization-rows.js';
import type { ExactRequirements } from '../../src/rails/x402/exact-payment.js';
import { TransactionsOnSolana } from '../../src/rails/x402/transactions-on-solana.js';
import { reconcileBooks } from '../../src/reconciliation/reconcile-books.command.js';
import { paymentsLedger } from '../../src/service.js';
import {
  as,
  asAuthorized,
  BRIEFLY_MS,
  newListing,
  newOrder,
  reasonOf,
  type Authorization,
  type Authorized,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import {
  newSigner,
  signedOnSolana,
  startSolanaLedger,
  withComputeBudget,
  type SolanaLedger,
} from '../support/solana-ledger.js';

const PRICE = 250_000n;
/** After this many blocks, a blockhash has expired in every final block. */
const LIFE_OF_A_BLOCKHASH = 400;
const LEASE = { callMs: 50_000 };

interface Held {
  order: Order;
  offered: Offered;
  seller: KeyPairSigner;
  authorization: string;
  claim: Authorized;
}

describe('the x402 rail on Solana', () => {
  let harness: SolanaLedger;
  beforeAll(async () => {
    harness = await startSolanaLedger({
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100',
      PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '100',
      PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '1500',
      PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS: '3000',
    });
  });
  afterEach(() => {
    harness.facilitator.fault = null;
    harness.facilitator.lie = null;
    harness.node.onRequest = undefined;
  });
  afterAll(() => harness.stop());

  const onSolana = () => ({ originChainId: harness.node.network });
  const quoted = async (): Promise<[Order, Offered, KeyPairSigner]> => {
    const order = newOrder();
    const seller = await harness.openWallet(order.listing.sellerId);
    return [order, await harness.ledger.quote(order, onSolana()), seller];
  };
  const sign = (offered: Offered, signer = harness.payer, changes?: Record<string, unknown>): Promise<string> =>
    signedOnSolana(offered, signer, harness.node.url, changes);
  const claim = (order: Order, offered: Offered, authorization?: string, lease = LEASE): Promise<Authorization> =>
    harness.ledger.authorize(order, offered, { ...lease, authorization });
  const held = async (signer?: KeyPairSigner): Promise<Held> => {
    const [order, offered, seller] = await quoted();
    const authorization = await sign(offered, signer);
    return { order, offered, seller, authorization, claim: asAuthorized(await claim(order, offered, authorization)) };
  };
  const balanceOf = ({ address }: { address: string }): Promise<bigint> => harness.node.balanceOf(address);
  const becomes = (state: string, { paymentId }: Pick<Authorized, 'paymentId'>): Promise<void> =>
    eventually(async () => expect(await harness.ledger.stateOf(paymentId)).toBe(state), { withinMs: 20_000 });

  /** Simulates that two and a half minutes have passed. Until then, no authorization counts as expired. */
  const isHeldForLong = ({ paymentId }: Authorized) =>
    harness.ledger.db.inspect(
      "UPDATE payments_ledger.authorizations SET created_at = now() - interval '151 seconds' WHERE payment_id = $1",
      [paymentId],
    );
  const outcomeOf = async ({ paymentId }: Authorized) => {
    const [row] = await harness.ledger.db.inspect<AuthorizationRow>(
      'SELECT * FROM payments_ledger.authorizations WHERE payment_id = $1',
      [paymentId],
    );
    const { network, usdc, url } = harness.node;
    const { relayRequestId } = (JSON.parse(row!.payload) as { accepted: Offered['offer']['x402'][number] }).accepted
      .extra;
    return new TransactionsOnSolana({ network, usdc, rpcUrls: [url] }, 3_000).settlementOf(toHeld(row!), {
      extra: { relayRequestId },
    } as ExactRequirements);
  };

  /** Sends a transfer whose fee the payer pays itself. In x402 payments the facilitator pays it. */
  const transferTokens = async (from: KeyPairSigner, to: string, amount: bigint, memo?: string): Promise<string> => {
    const { network, usdc: asset, url } = harness.node;
    const { payload } = await new ExactSvmScheme(from, { rpcUrl: url }).createPaymentPayload(2, {
      ...{ scheme: 'exact', network, asset, payTo: to, amount: String(amount), maxTimeoutSeconds: 60 },
      extra: { feePayer: from.address, memo },
    } as never);
    const { transaction } = payload as { transaction: Base64EncodedWireTransaction };
    return createSolanaRpc(url).sendTransaction(transaction, { encoding: 'base64' }).send();
  };

  it("asks for a transaction to the seller's wallet that carries the offer's id", async () => {
    const [, { offer }, seller] = await quoted();
    expect(offer).toMatchObject({
      provider: 'x402-solana',
      requirements: { depositAddress: null, amount: '0.25', currency: 'USDC', network: harness.node.network },
      retry_headers: { 'X-Market-Payment-Scheme': 'exact' },
    });
    expect(offer.x402[0]).toMatchObject({
      asset: harness.node.usdc,
      payTo: seller.address,
      amount: '250000',
      maxTimeoutSeconds: 60,
      extra: { memo: offer.relay_request_id, relayRequestId: offer.relay_request_id },
    });
  });

  it('moves the money when the answer is settled, and once', async () => {
    const { claim, seller } = await held();
    expect(await balanceOf(seller)).toBe(0n);
    const { transfer } = await harness.ledger.settle(claim);
    expect(await harness.ledger.settle(claim)).toMatchObject({ transfer });
    expect(transfer).toMatchObject({ network: harness.node.network, payer: harness.payer.address });
    expect(await balanceOf(seller)).toBe(PRICE);
  });

  it('charges nothing for a call that was not delivered, however often it is tried', async () => {
    const { claim: first, order, offered, authorization, seller } = await held();
    await harness.ledger.release(first);
    const second = asAuthorized(await claim(order, offered, authorization));
    await harness.ledger.release(second);
    await harness.ledger.db.inspect(
      "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
      [first.paymentId],
    );
    await becomes('cancelled', first);
    expect(await balanceOf(seller)).toBe(0n);
  });

  it.each(['break-after', 'deny-after', 'nonsense-after', 'nameless', 'late', 'pending-200'] as const)(
    'charges once for what a facilitator moved, which then did %s',
    async (fault) => {
      const { claim, seller } = await held();
      harness.facilitator.fault = fault;
      await harness.ledger
        .settle(claim)
        .catch((error: unknown) => expect(error).toMatchObject({ reason: 'settlement_unknown' }));
      await becomes('completed', claim);
      expect(await balanceOf(seller)).toBe(PRICE);
    },
  );

  it.each(['getSignaturesForAddress', 'getTransaction', 'isBlockhashValid', 'sendTransaction'])(
    'leaves open what it cannot know while %s is not answered, and charges once then',
    async (method) => {
      const { claim, seller } = await held();
      harness.facilitator.fault = 'break-after';
      harness.node.onRequest = (asked) => (asked === method ? 'swallow' : undefined);
      const outcome = await harness.ledger.settle(claim, {}, BRIEFLY_MS).then(
        () => 'completed',
        (error: { reason: string }) => error.reason,
      );
      if (outcome !== 'completed') {
        expect(outcome).toBe('settlement_unknown');
        expect(await harness.ledger.stateOf(claim.paymentId)).toBe('indeterminate');
      }
      harness.node.onRequest = undefined;
      harness.facilitator.fault = null;
      await becomes('completed', claim);
      expect(await balanceOf(seller)).toBe(PRICE);
    },
  );

  it.each(['names-nothing', 'names-another-call', 'pays-another', 'pays-less'] as const)(
    'charges nothing on the word of a facilitator that %s, and once for what it settles then',
    async (lie) => {
      const earlier = await held();
      const { transfer } = await harness.ledger.settle(earlier.claim);
      const { claim, seller, offered } = await held();
      const memo = offered.offer.relay_request_id;
      const lies = {
        'names-nothing': () => Promise.resolve('5'.repeat(88)),
        'names-another-call': () => Promise.resolve(transfer!.transaction),
        'pays-another': () => transferTokens(harness.payer, earlier.seller.address, PRICE, memo),
        'pays-less': () => transferTokens(harness.payer, seller.address, 1n, memo),
      };
      harness.facilitator.lie = await lies[lie]();
      const before = await balanceOf(seller);
      expect(await reasonOf(harness.ledger.settle(claim, {}, BRIEFLY_MS))).toBe('settlement_unknown');
      expect(await harness.ledger.stateOf(claim.paymentId)).toBe('indeterminate');
      expect(await balanceOf(seller)).toBe(before);
      harness.facilitator.lie = null;
      await becomes('completed', claim);
      expect((await balanceOf(seller)) - before).toBe(PRICE);
    },
  );

  it('refuses a transaction that pays another recipient, another amount, another offer, or that nobody signed', async () => {
    const [order, offered] = await quoted();
    const [, other] = await quoted();
    const signatureless = JSON.parse(await sign(offered)) as { payload: { transaction: string } };
    const bytes = Buffer.from(signatureless.payload.transaction, 'base64');
    bytes.fill(7, 1 + 64, 1 + 128);
    signatureless.payload.transaction = bytes.toString('base64');
    const elsewhere = await newSigner();
    await harness.node.openTokenAccount(elsewhere.address);
    const wrong: [string, string][] = [
      [
        await sign(offered, harness.payer, { payTo: elsewhere.address }),
        'invalid_exact_svm_payload_recipient_mismatch',
      ],
      [await sign(offered, harness.payer, { amount: '1' }), 'invalid_exact_svm_payload_amount_mismatch'],
      [
        await sign(offered, harness.payer, { extra: other.offer.x402[0]!.extra }),
        'invalid_exact_svm_payload_memo_mismatch',
      ],
      [await sign(other), 'accepted_mismatch'],
      [JSON.stringify(signatureless), 'invalid_exact_svm_payload_signature_invalid'],
      [
        await sign(offered, harness.payer, { extra: { ...offered.offer.x402[0]!.extra, feePayer: elsewhere.address } }),
        'invalid_exact_svm_fee_payer_mismatch',
      ],
    ];
    for (const [authorization, reason] of wrong)
      expect(await claim(order, offered, authorization)).toMatchObject({ outcome: 'rejected', reason });
    expect(asAuthorized(await claim(order, offered, await sign(offered))).isSigned).toBe(true);
  });

  it.each([
    ['1,400,000 units at 5,000,000', 1_400_000, 5_000_000n, 'settlement_too_costly'],
    ['the usual units at a price above the fee of the sale', 20_000, 2_000_000n, 'settlement_too_costly'],
    ['the price of the most units alone', 1_400_000, 30_000n, 'settlement_too_costly'],
    ['a priority that the fee of the sale pays for', 60_000, 400_000n, null],
  ])('bounds what its own fee payer pays: %s', async (_what, units, price, reason) => {
    const [order, offered, seller] = await quoted();
    const payer = await newSigner();
    await harness.node.fund(payer.address, PRICE);
    const costly = await withComputeBudget(await sign(offered, payer), payer, units, price);
    const outcome = await claim(order, offered, costly);
    if (reason !== null) expect(outcome).toMatchObject({ outcome: 'rejected', reason });
    else await harness.ledger.settle(asAuthorized(outcome));
    expect(await balanceOf(seller)).toBe(reason === null ? PRICE : 0n);
  });

  it('pays no other call of the same seller, whatever terms it is sent with', async () => {
    const [order, offered] = await quoted();
    const other = newOrder();
    other.listing.sellerId = order.listing.sellerId;
    const otherOffer = await harness.ledger.quote(other, onSolana());
    const authorization = await sign(offered);
    const moved = JSON.stringify({ ...(JSON.parse(authorization) as object), accepted: otherOffer.offer.x402[0] });
    expect(await claim(other, otherOffer, moved)).toMatchObject({
      outcome: 'rejected',
      reason: 'invalid_exact_svm_payload_memo_mismatch',
    });
    expect(asAuthorized(await claim(order, offered, authorization)).isSigned).toBe(true);
  });

  it('refuses what its payer cannot pay before the seller is called', async () => {
    const poor = await newSigner();
    await harness.node.fund(poor.address, PRICE - 1n);
    const [order, offered] = await quoted();
    expect(await claim(order, offered, await sign(offered, poor))).toMatchObject({ outcome: 'rejected' });
  });

  it('holds nothing while the RPC server of the facilitator is away, and the same signature after it', async () => {
    const [order, offered] = await quoted();
    const authorization = await sign(offered);
    harness.node.onRequest = (method) => (method === 'simulateTransaction' ? 'refuse' : undefined);
    expect(await reasonOf(claim(order, offered, authorization))).toBe('dependency_unavailable');
    harness.node.onRequest = undefined;
    expect(asAuthorized(await claim(order, offered, authorization)).isSigned).toBe(true);
  });

  it('refuses for good what its blockhash outlived, keeps the call, and takes the next signature for it', async () => {
    const { order, offered, seller, claim: first } = await held();
    harness.node.mine(LIFE_OF_A_BLOCKHASH);
    expect(await reasonOf(harness.ledger.settle(first))).toBe('settlement_refused');
    expect(await harness.ledger.stateOf(first.paymentId)).toBe('pending');
    const again = asAuthorized(await claim(order, offered, await sign(offered)));
    // The payer's last settlement failed, so this payment is settled before the call.
    expect(again.transactionHash).not.toBeNull();
    await harness.ledger.settle(again);
    expect(await balanceOf(seller)).toBe(PRICE);
  });

  it('knows for good that a transaction never came, once its blockhash is over in a final block and not before', async () => {
    const { claim, seller } = await held();
    harness.facilitator.fault = 'break-before';
    expect(await reasonOf(harness.ledger.settle(claim, {}, BRIEFLY_MS))).toBe('settlement_unknown');
    await isHeldForLong(claim);
    harness.node.mine(100);
    expect(await outcomeOf(claim)).toBeNull();
    harness.node.mine(LIFE_OF_A_BLOCKHASH);
    expect(await outcomeOf(claim)).toEqual({ settled: false, reason: 'authorization_expired' });
    await becomes('pending', claim);
    expect(await balanceOf(seller)).toBe(0n);
  });

  it('settles first where the seller may take longer than a transaction is good for', async () => {
    const [order, offered, seller] = await quoted();
    const payer = await newSigner();
    await harness.node.fund(payer.address, PRICE);
    const slow = asAuthorized(await claim(order, offered, await sign(offered, payer), { callMs: 140_000 }));
    expect(slow.transactionHash).not.toBeNull();
    expect(await balanceOf(seller)).toBe(PRICE);
    harness.node.mine(LIFE_OF_A_BLOCKHASH);
    await harness.ledger.settle(slow);
    expect(await balanceOf(seller)).toBe(PRICE);
  });

  it('is not offered where the seller has no wallet on Solana', async () => {
    expect(await reasonOf(harness.ledger.quote(newOrder(), { ...onSolana(), originCurrency: 'USDC' }))).toBe(
      'payment_route_unavailable',
    );
  });

  it('is quoted without a key, and shown in the discovery, with the account that pays the fee', async () => {
    const { listing } = newOrder();
    const seller = await harness.openWallet(listing.sellerId);
    const { offers } = await harness.ledger.gateway.request(
      quoteKeyless,
      { listing, priceMicros: '250000' },
      newRequestContext(),
    );
    const { feePayer } = offers.find(({ x402 }) => x402.network === harness.node.network)!.x402.extra;
    const { terms } = await harness.ledger.edge.request(
      quoteExact,
      { calls: [{ sellerId: listing.sellerId, priceMicros: '250000' }] },
      newRequestContext(),
    );
    expect(terms[0]).toContainEqual(
      expect.objectContaining({ network: harness.node.network, payTo: seller.address, extra: { feePayer } }),
    );
  });

  it('is explained by its chain', async () => {
    await harness.ledger.settle((await held()).claim);
    await harness.ledger.db.inspect(
      "UPDATE payments_ledger.authorizations SET created_at = created_at - interval '151 seconds'",
    );
    harness.node.mine(LIFE_OF_A_BLOCKHASH);
    await eventually(async () => {
      const text = await runCommand(
        paymentsLedger,
        reconcileBooks,
        { operator: newId(), arguments: [], options: {} },
        {
          DATABASE_URL: harness.ledger.db.url,
          PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
          ...harness.env,
        },
      );
      expect(text).toMatch(/^\d+ settlements explained, 0 unexplained, 0 unknown$/);
    });
  });

  describe('owes back what it moved first and what was not delivered', () => {
    const refundOf = async ({ buyer }: Order): Promise<RefundView> =>
      eventually(async () => {
        const { items } = await harness.ledger.edge.request(listRefunds, { page: 1, limit: 20 }, as(buyer));
        expect(items[0]?.wallet).toEqual(expect.any(String));
        return items[0]!;
      });
    const undelivered = async (): Promise<{ order: Order; buyer: KeyPairSigner; seller: KeyPairSigner }> => {
      const [order, offered, seller] = await quoted();
      const buyer = await harness.openWallet(order.buyer);
      await harness.node.fund(buyer.address, PRICE);
      const first = asAuthorized(await claim(order, offered, await sign(offered, buyer), { callMs: 140_000 }));
      await harness.ledger.release(first);
      await harness.ledger.db.inspect(
        "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
        [first.paymentId],
      );
      await becomes('refund_due', first);
      return { order, buyer, seller };
    };
    const confirm = ({ listing }: Order, { id }: RefundView, transaction: string): Promise<RefundView> =>
      harness.ledger.edge.request(confirmRefund, { refund_id: id, transaction }, as(listing.sellerId));

    it('to the wallet of the buyer, which the seller pays with one transfer', async () => {
      const { order, buyer, seller } = await undelivered();
      const refund = await refundOf(order);
      expect(refund).toMatchObject({
        status: 'refund_due',
        owed_by: 'seller',
        network: harness.node.network,
        wallet: buyer.address,
      });
      await harness.node.fund(seller.address, 10n * PRICE);
      const less = await transferTokens(seller, buyer.address, PRICE - 1n);
      expect(await reasonOf(confirm(order, refund, less))).toBe('transfer_not_found');
      expect(await reasonOf(confirm(order, refund, `0x${'ab'.repeat(32)}`))).toBe('transfer_not_found');
      const transaction = await transferTokens(seller, buyer.address, PRICE);
      expect(await reasonOf(confirm(order, refund, transaction))).toBe('transfer_not_final');
      harness.node.mine(40);
      expect(await confirm(order, refund, transaction)).toMatchObject({
        status: 'refunded',
        transaction_hash: transaction,
      });
    });

    it('and takes no transfer twice, nor one of another wallet, nor a signed payment for something else', async () => {
      const { order, buyer, seller } = await undelivered();
      const refund = await refundOf(order);
      await harness.node.fund(seller.address, 10n * PRICE);
      const stranger = await newSigner();
      await harness.node.fund(stranger.address, 10n * PRICE);
      // The seller buys from the buyer, who has the same wallet.
      const bought = newOrder({ buyer: order.listing.sellerId });
      bought.listing.sellerId = order.buyer;
      const offered = await harness.ledger.quote(bought, onSolana());
      const sale = asAuthorized(await claim(bought, offered, await sign(offered, seller)));
      const paid = await harness.ledger.settle(sale);
      const byStranger = await transferTokens(stranger, buyer.address, PRICE);
      const transaction = await transferTokens(seller, buyer.address, PRICE);
      harness.node.mine(40);
      expect(await reasonOf(confirm(order, refund, paid.transfer!.transaction))).toBe('transfer_not_found');
      expect(await reasonOf(confirm(order, refund, byStranger))).toBe('transfer_not_found');
      expect(await confirm(order, refund, transaction)).toMatchObject({ status: 'refunded' });
      expect(await confirm(order, refund, transaction)).toMatchObject({ status: 'refunded' });
    });
  });

  it('starts a subscription, whose money moves with it', async () => {
    const [listing, buyer] = [newListing(), newId()];
    const seller = await harness.openWallet(listing.sellerId);
    harness.ledger.wallets!.set(listing.sellerId, null);
    harness.ledger.catalog.offer(listing);
    const asked = await harness.ledger.edge.request(subscribe, { listing_id: listing.listingId }, as(buyer));
    const { payment } = asked as Extract<typeof asked, { outcome: 'payment_required' }>;
    expect(payment.x402[0]).toMatchObject({ network: harness.node.network, payTo: seller.address, amount: '9990000' });
    const payload = JSON.parse(
      await signedOnSolana({ offer: payment } as never, harness.payer, harness.node.url),
    ) as Record<string, unknown>;
    const verified = await harness.ledger.edge.request(
      verifyPayment,
      { payment_id: payment.payment_id, payload },
      as(buyer),
    );
    expect(verified).toMatchObject({ outcome: 'completed' });
    expect(await balanceOf(seller)).toBe(9_990_000n);
  });

  it('pays what a seller owes of fees', async () => {
    const { claim: sold, order, seller } = await held();
    await harness.ledger.settle(sold);
    const caller = as(order.listing.sellerId);
    const asked = await harness.ledger.edge.request(payFees, {}, caller);
    expect(asked).toMatchObject({ outcome: 'payment_required', amount: { micros: '12500' } });
    const { accepts } = asked as Extract<typeof asked, { outcome: 'payment_required' }>;
    const x402 = accepts.find(({ network }) => network === harness.node.network)!;
    const operator = harness.env['PAYMENTS_LEDGER_FEE_SOLANA_ADDRESS']!;
    expect(x402.payTo).toBe(operator);
    await harness.node.openTokenAccount(operator);
    const authorization = await signedOnSolana({ offer: { x402: [x402] } } as never, seller, harness.node.url);
    expect(await harness.ledger.edge.request(payFees, { authorization }, caller)).toMatchObject({ outcome: 'paid' });
    expect(await harness.node.balanceOf(operator)).toBe(12_500n);
  });
});
