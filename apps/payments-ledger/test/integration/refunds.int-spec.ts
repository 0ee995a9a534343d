import {
  confirmRefund,
  getBalance,
  getPayment,
  listLedger,
  listRefunds,
  paymentRefunded,
  refundOverdue,
  sellerStandingChanged,
  type RefundView,
} from '@market/contracts/payments-ledger';
import type { RequestOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { runCommand } from '@market/runtime';
import { eventually } from '@market/testing';
import type { Address, Hash, Hex } from 'viem';
import { paymentsLedger } from '../../src/service.js';
import { refundsConfirm } from '../../src/refunds/refunds-confirm.command.js';
import { payoutOf } from '../../../gateway/test/support/fake-wallets.js';
import { startEvmHarness, type EvmHarness } from '../support/evm-harness.js';
import { as, newOrder, reasonOf, startLedger, type LedgerHarness, type Order } from '../support/ledger-harness.js';

const SIGNING_KEYS = Buffer.alloc(32, 6).toString('base64');
const NETWORK = 'eip155:31337';

/** A ledger with a chain. Undelivered payments to sellers are sandbox payments whose rows are changed. */
describe('what is owed back', () => {
  let chain: EvmHarness;
  let usdc: Address;
  let harness: LedgerHarness;
  let env: Record<string, string>;
  beforeAll(async () => {
    chain = await startEvmHarness();
    usdc = await chain.deploy('SignedToken');
    await chain.send(usdc, 'mint', [chain.payer, 10n ** 12n]);
    env = {
      PAYMENTS_LEDGER_X402_CHAINS: `${NETWORK}=${chain.node.url}`,
      PAYMENTS_LEDGER_X402_USDC: `${NETWORK}=${usdc}`,
      PAYMENTS_LEDGER_FEE_ADDRESS: chain.payer,
      PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
      PAYMENTS_LEDGER_SIGNING_KEYS: SIGNING_KEYS,
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100',
      PAYMENTS_LEDGER_SANDBOX_REFUND_SECONDS: '0',
    };
    harness = await startLedger({ replicas: 2, env });
  });
  afterAll(async () => {
    await harness.stop();
    await chain.stop();
  });

  const refundsOf = async (who: string, filter: Partial<RequestOf<typeof listRefunds>> = {}): Promise<RefundView[]> =>
    (await harness.edge.request(listRefunds, { page: 1, limit: 20, ...filter }, as(who))).items;
  const confirm = (who: string, { id }: RefundView, transaction: Hash) =>
    harness.edge.request(confirmRefund, { refund_id: id, transaction }, as(who));
  const adjustments = async (who: string) =>
    (await harness.edge.request(listLedger, { page: 1, limit: 20, type: 'adjustment' }, as(who))).items;

  /** Makes a paid call whose seller received the money in its wallet and never delivered. */
  const undelivered = async (): Promise<{ order: Order; refund: RefundView }> => {
    const order = newOrder();
    const offered = await harness.quote(order, { originCurrency: 'SOL' });
    await harness.pay(order, offered);
    await harness.db.inspect(
      `UPDATE payments_ledger.payments
       SET rail = 'x402', network = '${NETWORK}', payee = 'seller', authorization_id = gen_random_uuid(),
         retry_until = now() - interval '1 second'
       WHERE id = $1`,
      [offered.offer.payment_id],
    );
    return eventually(async () => {
      const [refund] = await refundsOf(order.buyer);
      expect(refund?.wallet).toBe(payoutOf(order.buyer));
      return { order, refund: refund! };
    });
  };
  /** Sends a transfer from the payer's account, which stands for the seller's wallet. */
  const transfer = async (to: string, micros: bigint): Promise<Hash> => {
    const hash = await chain.send(usdc, 'transfer', [to, micros]);
    await chain.pass(1);
    return hash;
  };
  const playsWalletOf = (seller: string): void => harness.wallets!.set(seller, chain.payer);

  it('by the sandbox is paid by itself, with a transaction, and shows in ledger, payment and event', async () => {
    const order = newOrder();
    const offered = await harness.quote(order, { originCurrency: 'SOL' });
    await harness.pay(order, offered, 'late');
    await eventually(async () => expect(await harness.stateOf(offered.offer.payment_id)).toBe('refunded'));
    const [refund] = await refundsOf(order.buyer);
    expect(refund).toMatchObject({
      role: 'buyer',
      status: 'refunded',
      reason: 'paid_late',
      owed_by: 'operator',
      amount: { micros: '250000' },
      transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      pay_by: null,
    });
    const { transaction_hash } = refund!;
    expect(await adjustments(order.buyer)).toMatchObject([
      { direction: 'debit', amount_cents: 25, balance_after_cents: 0, transaction_hash },
      { direction: 'credit', amount_cents: 25, balance_after_cents: 25 },
    ]);
    expect(
      await harness.edge.request(getPayment, { payment_id: offered.offer.payment_id }, as(order.buyer)),
    ).toMatchObject({ status: 'refunded', refund_due_amount: 0 });
    expect((await harness.received(paymentRefunded)).filter(({ buyerId }) => buyerId === order.buyer)).toMatchObject([
      { isWhole: true, transactionHash: transaction_hash, amountMicros: '250000' },
    ]);
    expect(await refundsOf(order.listing.sellerId)).toEqual([]);
  });

  it('by the seller is confirmed by its transfer on the chain, once, and by no other', async () => {
    const { order, refund } = await undelivered();
    const seller = order.listing.sellerId;
    expect(await refundsOf(seller)).toMatchObject([
      { id: refund.id, role: 'seller', status: 'refund_due', owed_by: 'seller', amount: { micros: '250000' } },
    ]);
    playsWalletOf(seller);
    const nothing = `0x${'1'.repeat(64)}` as const;
    expect(await reasonOf(confirm(seller, refund, nothing))).toBe('transfer_not_found');
    expect(await reasonOf(confirm(seller, refund, await transfer(refund.wallet!, 249_999n)))).toBe(
      'transfer_not_found',
    );
    expect(await reasonOf(confirm(seller, refund, await transfer(payoutOf(newId()), 250_000n)))).toBe(
      'transfer_not_found',
    );
    const paid = await transfer(refund.wallet!, 250_000n);
    expect(await reasonOf(confirm(order.buyer, refund, paid))).toBe('not_debtor');
    expect(await reasonOf(confirm(newId(), refund, paid))).toBe('refund_not_found');
    harness.wallets!.set(seller, payoutOf(seller));
    expect(await reasonOf(confirm(seller, refund, paid))).toBe('transfer_not_found');
    playsWalletOf(seller);
    const answers = await Promise.all(Array.from({ length: 8 }, () => confirm(seller, refund, paid)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 'refunded', transaction_hash: paid });
    expect(await harness.stateOf(refund.payment_id)).toBe('refunded');
    expect(await adjustments(seller)).toMatchObject([
      { direction: 'credit', balance_after_cents: 0, transaction_hash: paid, network: NETWORK, wallet: refund.wallet },
      { direction: 'debit', balance_after_cents: -25 },
    ]);
    for (const who of [seller, order.buyer])
      expect((await harness.edge.request(getBalance, {}, as(who))).refunds).toMatchObject({
        due_to_account: { usd: 0 },
        due_by_account: { usd: 0 },
      });
    // The same transfer does not pay a second refund to the same wallet.
    const other = await undelivered();
    await harness.db.inspect('UPDATE payments_ledger.refunds SET wallet = $2, due_since = $3 WHERE id = $1', [
      other.refund.id,
      refund.wallet,
      refund.due_since,
    ]);
    playsWalletOf(other.order.listing.sellerId);
    expect(await reasonOf(confirm(other.order.listing.sellerId, other.refund, paid))).toBe('transfer_used');
    const command = (transaction: Hash) =>
      runCommand(
        paymentsLedger,
        refundsConfirm,
        { operator: 'ada', arguments: [other.refund.id, transaction], options: {} },
        { DATABASE_URL: harness.db.url, LOG_LEVEL: 'fatal', ...env },
      );
    await expect(command(nothing)).rejects.toThrow('transfer_not_found');
    const byOperator = await transfer(refund.wallet!, 300_000n);
    const payout = (hash: Hash) =>
      harness.db.inspect(
        `INSERT INTO payments_ledger.payouts (id, seller_id, network, wallet, transaction_hash, log_index, amount_micros, confirmed_at)
         VALUES (gen_random_uuid(), $1, $2, $3, $4, 0, 300000, now())`,
        [seller, NETWORK, refund.wallet, hash],
      );
    const paidOut = await transfer(refund.wallet!, 300_000n);
    await payout(paidOut);
    await expect(command(paidOut)).rejects.toThrow('transfer_used');
    // The payout has no journal entry, so it must not remain in the books.
    await harness.db.inspect(
      `SET session_replication_role = replica; DELETE FROM payments_ledger.payouts; SET session_replication_role = origin`,
    );
    expect(await command(byOperator)).toMatch(/^refund .* is paid by 0x/);
    expect(
      await harness.db.inspect(
        'SELECT operator, command, reason FROM payments_ledger.operator_actions WHERE subject = $1',
        [other.refund.id],
      ),
    ).toEqual([{ operator: 'ada', command: 'refunds confirm', reason: byOperator }]);
  });

  it('may be in a block whose time is a few seconds before the refund became due, but not in an older one', async () => {
    const { order, refund } = await undelivered();
    const seller = order.listing.sellerId;
    playsWalletOf(seller);
    const transaction = await transfer(refund.wallet!, 250_000n);
    const { blockNumber } = await chain.node.request<{ blockNumber: Hex }>('eth_getTransactionReceipt', [transaction]);
    const block = await chain.node.request<{ timestamp: Hex }>('eth_getBlockByNumber', [blockNumber, false]);
    const dueAfterBlock = (seconds: number) =>
      harness.db.inspect('UPDATE payments_ledger.refunds SET due_since = to_timestamp($2) WHERE id = $1', [
        refund.id,
        Number(block.timestamp) + seconds,
      ]);
    await dueAfterBlock(16);
    expect(await reasonOf(confirm(seller, refund, transaction))).toBe('transfer_not_found');
    await dueAfterBlock(15);
    expect(await confirm(seller, refund, transaction)).toMatchObject({ status: 'refunded' });
  });

  it('is confirmed once its buyer has a wallet, and its chain can be asked', async () => {
    const { order, refund } = await undelivered();
    const seller = order.listing.sellerId;
    playsWalletOf(seller);
    const paid = await transfer(refund.wallet!, 250_000n);
    const movedTo = (network: string) =>
      harness.db.inspect(`UPDATE payments_ledger.refunds SET network = $2 WHERE id = $1`, [refund.id, network]);
    harness.wallets!.set(order.buyer, null);
    await harness.db.inspect('UPDATE payments_ledger.refunds SET wallet = NULL, payable_since = NULL WHERE id = $1', [
      refund.id,
    ]);
    expect(await reasonOf(confirm(seller, refund, paid))).toBe('refund_wallet_missing');
    harness.wallets!.set(order.buyer, payoutOf(order.buyer));
    await eventually(async () => expect(await refundsOf(seller)).toMatchObject([{ wallet: refund.wallet }]));
    await movedTo('eip155:999999');
    expect(await reasonOf(confirm(seller, refund, paid))).toBe('refund_not_checkable');
    // As if the operator had named an RPC server.
    await movedTo(NETWORK);
    expect(await confirm(seller, refund, paid)).toMatchObject({ status: 'refunded', transaction_hash: paid });
  });

  it('for longer than its days of grace takes the seller off the market, until it is paid', async () => {
    const { order, refund } = await undelivered();
    const seller = order.listing.sellerId;
    const standings = async () =>
      (await harness.received(sellerStandingChanged))
        .filter(({ sellerId }) => sellerId === seller)
        .map(({ isOverdue }) => isOverdue);
    expect(Math.round((Date.parse(refund.pay_by!) - Date.now()) / 86_400_000)).toBe(7);
    expect(await standings()).toEqual([]);
    await harness.db.inspect(
      "UPDATE payments_ledger.refunds SET payable_since = now() - interval '8 days' WHERE id = $1",
      [refund.id],
    );
    await eventually(async () => expect(await standings()).toEqual([true]));
    expect((await harness.received(refundOverdue)).filter(({ sellerId }) => sellerId === seller)).toHaveLength(1);
    expect((await harness.edge.request(getBalance, {}, as(seller))).fees.status).toBe('good');
    playsWalletOf(seller);
    await confirm(seller, refund, await transfer(refund.wallet!, 250_000n));
    expect(await standings()).toEqual([true, false]);
  });
});
