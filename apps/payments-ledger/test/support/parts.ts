import { Locks, type Database } from '@market/persistence';
import type { MessageBus } from '@market/messaging';
import { Outbox } from '@market/persistence';
import { Jobs, platformConfig } from '@market/runtime';
import { ReceiptSigner } from '../../src/books/receipt-signer.js';
import { Budgets } from '../../src/budgets/budgets.js';
import { paymentsLedgerConfig } from '../../src/config.js';
import { BookFees } from '../../src/fees/book-fees.js';
import { FeeStandings } from '../../src/fees/fee-standings.js';
import { Journal } from '../../src/journal/journal.js';
import { Authorizations } from '../../src/payments/authorizations.js';
import { ChargeCalls } from '../../src/payments/charge-calls.js';
import { AuthorizePayment } from '../../src/payments/authorize-payment.use-case.js';
import { AuthorizeSignedPayment } from '../../src/payments/authorize-signed-payment.js';
import { CollectPayment } from '../../src/payments/collect-payment.use-case.js';
import { ExpirePayments } from '../../src/payments/expire-payments.job.js';
import { ReconcilePayment } from '../../src/payments/reconcile-payment.js';
import { OfferTokens } from '../../src/payments/keyless-terms.js';
import { UnstoredOffers } from '../../src/payments/unstored-offers.js';
import { PayFees } from '../../src/payments/pay-fees.use-case.js';
import type { PaySandbox } from '../../src/payments/pay-sandbox.use-case.js';
import { OfferReceiptSigner } from '../../src/payments/offer-receipt-signer.js';
import { SettleAuthorization } from '../../src/payments/settle-authorization.js';
import { OfferedListing } from '../../src/subscriptions/offered-listing.js';
import { StartSubscription } from '../../src/subscriptions/start-subscription.js';
import { Subscriptions } from '../../src/subscriptions/subscriptions.js';
import { VerifyPayment } from '../../src/subscriptions/verify-payment.use-case.js';
import type { PaymentRail } from '../../src/rails/payment-rail.js';
import { SandboxRail } from '../../src/rails/sandbox/sandbox.rail.js';
import { SandboxFacilitator } from '../../src/rails/x402/sandbox-facilitator.js';

const offerReceiptSigner = new OfferReceiptSigner(
  await ReceiptSigner.load(Buffer.alloc(32, 7).toString('base64')),
  platformConfig.parse({ PUBLIC_URL: 'http://market.test' }, []),
);

/** Returns the service's own parts on a database, for tests that run a job manually or define a rail. */
export function ledgerParts(database: Database, rails?: PaymentRail[]) {
  const config = paymentsLedgerConfig.parse({}, []);
  const used = rails ?? [new SandboxRail(database, new SandboxFacilitator(database), null, 1_000n)];
  const journal = new Journal();
  const locks = new Locks(database.url);
  const outbox = new Outbox();
  const budgets = new Budgets(database, outbox);
  const jobs = new Jobs();
  const observe = new ReconcilePayment(database, journal, outbox, used, config);
  const authorizations = new Authorizations(database, observe, used, config);
  const subscriptions = new Subscriptions(outbox);
  const startSubscription = new StartSubscription(journal, subscriptions);
  const settleAuthorization = new SettleAuthorization(
    database,
    authorizations,
    observe,
    new ChargeCalls(observe, authorizations, journal, outbox),
    new BookFees(journal, new FeeStandings(database, outbox, jobs, config), outbox),
    startSubscription,
    offerReceiptSigner,
    jobs,
    config,
  );
  const expirePayments = new ExpirePayments(
    database,
    locks,
    observe,
    authorizations,
    settleAuthorization,
    jobs,
    used,
    config,
  );
  let sweeps = 0;
  let opened = Promise.resolve();
  return {
    config,
    jobs,
    observe,
    settleAuthorization,
    /** @param bus the bus on which the catalog is asked. */
    verifyPayment: (bus: MessageBus) =>
      new VerifyPayment(
        database,
        observe,
        { railId: 'sandbox' } as PaySandbox,
        new OfferedListing(bus),
        subscriptions,
        startSubscription,
        authorizations,
        settleAuthorization,
        budgets,
      ),
    payFees: new PayFees(
      database,
      new UnstoredOffers(new OfferTokens(Buffer.alloc(32, 7).toString('base64')), used, config),
      authorizations,
      observe,
      settleAuthorization,
      used,
      config,
    ),
    collectPayment: new CollectPayment(database, observe, settleAuthorization, config),
    authorizePayment: new AuthorizePayment(
      database,
      observe,
      authorizations,
      settleAuthorization,
      new AuthorizeSignedPayment(database, observe, authorizations, settleAuthorization, budgets, config),
      budgets,
    ),
    expirePayments: {
      /** The connection of the locks is open while a sweep runs, so that it keeps no test from ending. */
      async run(): Promise<void> {
        sweeps += 1;
        if (sweeps === 1) opened = locks.open();
        await opened;
        await expirePayments.run().finally(() => {
          sweeps -= 1;
          return sweeps === 0 ? locks.close() : undefined;
        });
      },
    },
  };
}
