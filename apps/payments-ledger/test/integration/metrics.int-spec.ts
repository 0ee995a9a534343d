import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import { register } from 'prom-client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { newOrder, reasonOf, startLedger, type LedgerHarness, type Offered } from '../support/ledger-harness.js';
import { signed } from '../support/signed-payload.js';
import { startFaultyServers } from '../support/faulty-servers.js';
import { ON_CHAIN, OPERATOR, TO_OPERATOR } from '../support/x402-ledger.js';

/** Returns the value of one series; undefined if the series does not exist. */
async function valueOf(name: string, labels: Record<string, string> = {}): Promise<number | undefined> {
  const text = await register.getSingleMetricAsString(name);
  const line = text
    .split('\n')
    .find(
      (series) =>
        series.startsWith(name) &&
        Object.entries(labels).every(([label, value]) => series.includes(`${label}="${value}"`)),
    );
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
}

describe('the metrics of open payments and of the books', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ env: { PAYMENTS_LEDGER_SAMPLE_INTERVAL_MS: '50' } });
  });
  /** The tests change stored rows. */
  afterAll(() => harness.stop({ checkBooks: false }));

  const becomes = (name: string, labels: Record<string, string>, value: number): Promise<void> =>
    eventually(async () => expect(await valueOf(name, labels)).toBe(value));
  const set = (change: string, { offer }: Offered) =>
    harness.db.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE id = $1`, [offer.payment_id]);

  it('are zero while all is well', async () => {
    await harness.settle(await harness.authorized(newOrder()));
    for (const state of ['pending', 'verified', 'indeterminate'])
      await becomes('market_overdue_payments', { state }, 0);
    await becomes('market_unexplained_micros', {}, 0);
    await becomes('market_refunds_due_micros', {}, 0);
  });

  it('count payments that a job should have ended, by state', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    await set("expires_at = now() - interval '11 minutes 30 seconds'", offered);
    await becomes('market_overdue_payments', { state: 'pending' }, 1);
    expect(Math.floor((await valueOf('market_due_payments_oldest_seconds', { state: 'pending' }))! / 60)).toBe(11);
    await set("expires_at = now() + interval '11 minutes'", offered);
    await becomes('market_overdue_payments', { state: 'pending' }, 0);
    expect(await valueOf('market_due_payments_oldest_seconds', { state: 'pending' })).toBe(0);

    await harness.pay(order, offered);
    await set("retry_until = now() - interval '9 minutes 30 seconds'", offered);
    await eventually(async () =>
      expect(Math.floor((await valueOf('market_due_payments_oldest_seconds', { state: 'verified' }))! / 60)).toBe(9),
    );
    expect(await valueOf('market_overdue_payments', { state: 'verified' })).toBe(0);
    const later = newOrder();
    const paid = await harness.quote(later);
    await harness.pay(later, paid);
    await set("retry_until = now() - interval '11 minutes'", paid);
    await becomes('market_overdue_payments', { state: 'verified' }, 1);
    await set("retry_until = now() + interval '1 day'", paid);
  });

  it('tell what sellers owe of fees', async () => {
    const seller = newId();
    await harness.db.inspect(
      `INSERT INTO payments_ledger.accounts (address, owner_id, balance_micros)
       VALUES ('agent:${seller}:fees', $1, -7000), ('agent:${seller}:received:test', $1, 7000)`,
      [seller],
    );
    await becomes('market_fees_due_micros', {}, 7_000);
    await becomes('market_unexplained_micros', {}, 0);
  });

  it('tell what buyers are owed back', async () => {
    const order = newOrder({ priceMicros: '500000' });
    const offered = await harness.quote(order, { originCurrency: 'USDC' });
    await set("state = 'expired'", offered);
    await harness.db.inspect('INSERT INTO payments_ledger.sandbox_transfers VALUES ($1, $2, 500000, now())', [
      `0x${newId()}`,
      offered.offer.payment_id,
    ]);
    await harness.authorize(order, offered);
    await becomes('market_refunds_due', { rail: 'sandbox' }, 1);
    await becomes('market_refunds_due_micros', {}, 500_000);
  });

  it('tell what the books cannot explain', async () => {
    const change = (micros: number) =>
      harness.db.inspect(
        `INSERT INTO payments_ledger.accounts AS a (address, balance_micros) VALUES ('platform:fees', $1)
         ON CONFLICT (address) DO UPDATE SET balance_micros = a.balance_micros + excluded.balance_micros`,
        [micros],
      );
    await change(7);
    await becomes('market_unexplained_micros', {}, 7);
    await change(-7);
    await becomes('market_unexplained_micros', {}, 0);
  });
});

describe('the metrics of other parties', () => {
  it('count a facilitator that does not answer', async () => {
    const parties = await startFaultyServers();
    const harness = await startLedger({
      env: {
        ...TO_OPERATOR,
        PAYMENTS_LEDGER_X402_USDC: `eip155:31337=${OPERATOR}`,
        PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337',
        PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2',
        PAYMENTS_LEDGER_X402_FACILITATOR_URL: parties.urlOf('answers 500'),
      },
    });
    const order = newOrder();
    const offered = await harness.quote(order, ON_CHAIN);
    const authorization = await signed(offered, privateKeyToAccount(generatePrivateKey()));
    // The process may have sent requests to other facilitators before.
    const countOf = async (outcome: string): Promise<number> =>
      (await valueOf('market_provider_request_duration_seconds', {
        provider: 'facilitator',
        operation: 'verify',
        outcome,
        le: '+Inf',
      })) ?? 0;
    const [failed, answered] = [await countOf('failed'), await countOf('answered')];
    await reasonOf(harness.authorize(order, offered, { authorization }));
    expect([await countOf('failed'), await countOf('answered')]).toEqual([failed + 1, answered]);
    await harness.stop();
    parties.stop();
  });
});
