import { runCommand } from '@market/runtime';
import { eventually } from '@market/testing';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { endPayment } from '../../src/payments/end-payment.command.js';
import { paymentsLedger } from '../../src/service.js';
import {
  asAuthorized,
  newOrder,
  reasonOf,
  type Authorized,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { signed } from '../support/signed-payload.js';
import { ON_CHAIN, startX402Ledger, type X402Ledger } from '../support/x402-ledger.js';

/** Where no RPC server is named, only the facilitator knows what became of a signature, and here it does not say. */
describe('a settlement on a chain without an RPC server', () => {
  let harness: X402Ledger;
  let payer: PrivateKeyAccount;
  beforeAll(async () => {
    harness = await startX402Ledger({
      PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337',
      PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2',
      PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '100',
    });
    harness.facilitator.fault = 'break-before';
  });
  afterAll(() => harness.stop());

  const end = (paymentId: string, outcome: string, reason = 'seen in the explorer'): Promise<string> =>
    runCommand(
      paymentsLedger,
      endPayment,
      { operator: 'ada', arguments: [paymentId, outcome, reason], options: {} },
      {
        DATABASE_URL: harness.ledger.db.url,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
        ...harness.env,
      },
    );
  const unsettled = async (): Promise<{ order: Order; offered: Offered; claim: Authorized }> => {
    const order = newOrder();
    const offered = await harness.ledger.quote(order, ON_CHAIN);
    payer = privateKeyToAccount(generatePrivateKey());
    await harness.chain.send(harness.usdc, 'mint', [payer.address, 10n ** 6n]);
    const authorization = await signed(offered, payer);
    const claim = asAuthorized(await harness.ledger.authorize(order, offered, { authorization }));
    harness.facilitator.handIns.clear();
    expect(await reasonOf(harness.ledger.settle(claim))).toBe('settlement_unknown');
    return { order, offered, claim };
  };
  const expire = ({ paymentId }: Authorized) =>
    harness.ledger.db.inspect(
      `UPDATE payments_ledger.authorizations SET valid_before = now() - interval '1 minute',
         settling_until = now() - interval '1 second', tried_at = now() - interval '1 hour' WHERE payment_id = $1`,
      [paymentId],
    );
  /** Lets the job look at what has expired. */
  const expireAndLook = async (claim: Authorized): Promise<void> => {
    await expire(claim);
    await eventually(async () =>
      expect(
        await harness.ledger.db.inspect(
          `SELECT FROM payments_ledger.authorizations WHERE payment_id = $1 AND tried_at > now() - interval '1 minute'`,
          [claim.paymentId],
        ),
      ).toHaveLength(1),
    );
  };

  it('is handed in ever less often, and not after it has expired; an operator ends it as unpaid, with a reason', async () => {
    const { order, offered, claim } = await unsettled();
    const handIns = [...harness.facilitator.handIns.values()];
    expect(handIns).toHaveLength(1);
    expect(handIns[0]).toBeGreaterThan(2);
    expect(handIns[0]).toBeLessThan(8);
    await expect(end(claim.paymentId, 'unpaid')).rejects.toThrow('can still pay until');
    // The runs of the job do not overlap: the first may have begun before the end, and the second has not.
    await expireAndLook(claim);
    await expireAndLook(claim);
    harness.facilitator.handIns.clear();
    await expireAndLook(claim);
    expect(harness.facilitator.handIns.size).toBe(0);
    expect(await end(claim.paymentId, 'unpaid', 'no transfer until its end')).toContain('is unpaid');
    expect(await harness.ledger.authorize(order, offered)).toMatchObject({ outcome: 'unpaid' });
    expect(
      await harness.ledger.db.inspect(
        `SELECT a.state, a.reason, o.command, o.reason AS noted FROM payments_ledger.authorizations a
         JOIN payments_ledger.operator_actions o ON o.subject = a.payment_id::text WHERE a.payment_id = $1`,
        [claim.paymentId],
      ),
    ).toEqual([
      {
        state: 'refused',
        reason: 'no transfer until its end',
        command: 'payments end',
        noted: 'no transfer until its end',
      },
    ]);
    await expect(end(claim.paymentId, 'paid')).rejects.toThrow('no payment with this id');
  });

  it('is charged once an operator has seen the transfer', async () => {
    const { order, offered, claim } = await unsettled();
    expect(await end(claim.paymentId, 'paid')).toContain('is paid');
    expect(await harness.ledger.stateOf(claim.paymentId)).toBe('completed');
    expect(await harness.ledger.authorize(order, offered)).toMatchObject({
      outcome: 'completed',
      transfer: { transaction: '', payer: payer.address.toLowerCase() },
    });
  });
});
