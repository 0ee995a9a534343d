import { paymentsLedgerConfig } from '../../apps/payments-ledger/src/config.js';
import { SandboxRail } from '../../apps/payments-ledger/src/rails/sandbox/sandbox.rail.js';
import { SandboxFacilitator } from '../../apps/payments-ledger/src/rails/x402/sandbox-facilitator.js';
import { newOrder, startLedger } from '../../apps/payments-ledger/test/support/ledger-world.js';
import { startChild } from '../src/child.js';
import { compare, type Compared } from './compare.js';
import { observeExactly } from './watched-offer.js';

/** The rail whose chain is a table: its bare call is one statement. */
export async function compareSandbox(times: number): Promise<Compared[]> {
  const postgres = await startChild('../../libs/testing/src/jest/postgres-process.ts');
  process.env.TEST_DATABASE_URL = postgres.url;
  const ledger = await startLedger();
  try {
    const { database } = ledger.db;
    const rail = new SandboxRail(database, new SandboxFacilitator(database), paymentsLedgerConfig.parse({}, []));
    const order = newOrder();
    const offered = await ledger.quote(order);
    await ledger.pay(order, offered);
    const { relay_request_id: relayRequestId, payment_id: paymentId, requirements } = offered.offer;
    const amountBaseUnits = BigInt(requirements.amount_base_units);
    const route = rail.routes().find(({ currency }) => currency === requirements.currency)!;
    const watched = { paymentId, relayRequestId, route, amountBaseUnits, priceMicros: 250_000n, depositAddress: requirements.depositAddress, reference: null, createdAt: new Date() };
    const transfers = { name: 'bench.transfers', text: 'SELECT amount_base_units, transaction_hash FROM sandbox_transfers WHERE payment_id = $1' };
    return [await compare(times, 'sandbox, paid: observe', 'one prepared SELECT', () => database.query(transfers, [paymentId]), () => observeExactly(rail, watched, amountBaseUnits))];
  } finally {
    await ledger.stop();
    await postgres.stop();
  }
}
