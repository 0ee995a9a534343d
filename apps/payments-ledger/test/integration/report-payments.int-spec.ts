import { runCommand } from '@market/runtime';
import { reportPayments } from '../../src/payments/report-payments.command.js';
import { paymentsLedger } from '../../src/service.js';
import { asAuthorized, newOrder, type Offered } from '../support/ledger-harness.js';
import { signed } from '../support/signed-payload.js';
import { ON_CHAIN, startX402Ledger, type X402Ledger } from '../support/x402-ledger.js';

describe('payments report', () => {
  let harness: X402Ledger;
  beforeAll(async () => {
    harness = await startX402Ledger();
  });
  /** The tests change stored rows. */
  afterAll(() => harness.stop({ checkBooks: false }));

  const NOTHING = 'no payment is open longer than expected, and nothing is owed back';
  const report = (): Promise<string> =>
    runCommand(
      paymentsLedger,
      reportPayments,
      { operator: 'ada', arguments: [], options: {} },
      {
        DATABASE_URL: harness.ledger.db.url,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
        ...harness.env,
      },
    );
  const failed = async (outcome: Promise<string>): Promise<string[]> => {
    const error: unknown = await outcome.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'CommandFailure' });
    return (error as Error).message.split('\n');
  };
  const set = (change: string, { offer }: Offered) =>
    harness.ledger.db.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE id = $1`, [offer.payment_id]);
  /** Marks the refunds of an offer as paid, as their job does. */
  const pay = ({ offer }: Offered) =>
    harness.ledger.db.inspect(
      `UPDATE payments_ledger.refunds SET refunded_at = now(), transaction_hash = '0x' || md5(id::text), log_index = 0
       WHERE payment_id = $1`,
      [offer.payment_id],
    );
  const lineOf = (lines: string[], { offer }: Offered): string[] | undefined =>
    lines.find((line) => line.includes(offer.payment_id))?.split('\t');

  it('has nothing to say where nothing is open', async () => {
    await harness.ledger.quote(newOrder(), ON_CHAIN);
    expect(await report()).toBe(NOTHING);
  });

  it('says what is paid and not delivered', async () => {
    const order = newOrder();
    const offered = await harness.ledger.quote(order, { originCurrency: 'SOL' });
    await harness.ledger.pay(order, offered);
    await harness.ledger.release(asAuthorized(await harness.ledger.authorize(order, offered)));
    expect(await report()).toBe(NOTHING);
    await set("verified_at = now() - interval '11 minutes'", offered);
    expect(lineOf([await report()], offered)).toEqual([
      'open',
      offered.offer.payment_id,
      'sandbox',
      'verified',
      expect.any(String),
      expect.stringMatching(/^paid and not delivered; its buyer may repeat the call until 20/),
    ]);
    await set("retry_until = now() - interval '11 minutes'", offered);
    expect(lineOf(await failed(report()), offered)).toEqual([
      'unexplained',
      offered.offer.payment_id,
      'sandbox',
      'verified',
      expect.any(String),
      'its window is over and it was not owed back',
    ]);
    await set("retry_until = now() + interval '1 day', verified_at = now()", offered);
  });

  it('names every cent that is owed back, and by whom', async () => {
    const order = newOrder();
    const offered = await harness.ledger.quote(order, { originCurrency: 'SOL' });
    await harness.ledger.pay(order, offered, 'late');
    expect(lineOf([await report()], offered)).toEqual([
      'owed',
      offered.offer.payment_id,
      'sandbox',
      'refund_due',
      expect.any(String),
      `$0.25 to ${order.buyer} (paid_late): $0.25 by you`,
    ]);
    await pay(offered);
    expect(await report()).toBe(NOTHING);
  });

  it('names a surplus until it is paid back, though its payment is completed', async () => {
    const order = newOrder();
    const offered = await harness.ledger.quote(order, { originCurrency: 'SOL' });
    await harness.ledger.pay(order, offered, 'overpaid');
    await harness.ledger.settle(asAuthorized(await harness.ledger.authorize(order, offered)));
    expect(lineOf([await report()], offered)?.slice(3)).toEqual([
      'completed',
      expect.any(String),
      `$0.125 to ${order.buyer} (overpaid): $0.125 by you`,
    ]);
    await pay(offered);
    expect(await report()).toBe(NOTHING);
  });

  it('says whether money holds an old offer open, or nothing, or whether its rail is not known here', async () => {
    const order = newOrder();
    const offered = await harness.ledger.quote(order, { originCurrency: 'SOL' });
    await set("expires_at = now() - interval '11 minutes'", offered);
    expect(lineOf(await failed(report()), offered)).toEqual([
      'unexplained',
      offered.offer.payment_id,
      'sandbox',
      'pending',
      expect.any(String),
      'its time is over and nothing is on its way',
    ]);
    await harness.ledger.db.inspect(
      "INSERT INTO payments_ledger.sandbox_transfers VALUES ($1, $2, 1, now() + interval '1 hour')",
      [`0x${offered.offer.payment_id}`, offered.offer.payment_id],
    );
    expect(lineOf([await report()], offered)?.at(-1)).toBe('money is on its way and not final');
    await set("rail = 'relay'", offered);
    expect(lineOf(await failed(report()), offered)?.at(-1)).toBe('its rail relay is not configured here');
    await set("rail = 'sandbox', expires_at = now()", offered);
  });

  it('says of a signed payment with an unknown outcome how often it was handed in, and how long it is good', async () => {
    const order = newOrder();
    const offered = await harness.ledger.quote(order, ON_CHAIN);
    const claim = asAuthorized(
      await harness.ledger.authorize(order, offered, {
        authorization: await signed(offered, harness.chain.payerAccount as never),
      }),
    );
    harness.facilitator.fault = 'break-before';
    await expect(harness.ledger.settle(claim)).rejects.toThrow();
    expect(await harness.ledger.stateOf(claim.paymentId)).toBe('indeterminate');
    expect(lineOf([await report()], offered)?.slice(3)).toEqual([
      'indeterminate',
      expect.any(String),
      expect.stringMatching(
        /^handed to the facilitator \d+ times, last 20.+, and its outcome is unknown; the signature is good until 20/,
      ),
    ]);
    await harness.ledger.db.inspect(
      "UPDATE payments_ledger.authorizations SET valid_before = now() - interval '2 hours' WHERE state = 'settling'",
    );
    expect(lineOf(await failed(report()), offered)?.[0]).toBe('unexplained');
  });
});
