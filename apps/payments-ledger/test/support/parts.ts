import type { Database } from '@market/persistence';
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
import { ClaimHolders } from '../../src/payments/claim-holders.js';
import { ClaimPayment } from '../../src/payments/claim-payment.use-case.js';
import { ClaimSignedPayment } from '../../src/payments/claim-signed-payment.js';
import { ExpirePayments } from '../../src/payments/expire-payments.job.js';
import { ReconcilePayment } from '../../src/payments/reconcile-payment.js';
import { KeylessTermsSeal } from '../../src/payments/keyless-terms.js';
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
  const used = rails ?? [new SandboxRail(database, new SandboxFacilitator(database), null)];
  const journal = new Journal();
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
    new ChargeCalls(journal, outbox),
    new BookFees(journal, new FeeStandings(database, outbox, jobs, config)),
    startSubscription,
    offerReceiptSigner,
    jobs,
    config,
  );
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
      new KeylessTermsSeal(Buffer.alloc(32, 7).toString('base64')),
      authorizations,
      observe,
      settleAuthorization,
      used,
      config,
    ),
    claimPayment: new ClaimPayment(
      database,
      observe,
      authorizations,
      settleAuthorization,
      new ClaimSignedPayment(database, observe, authorizations, settleAuthorization, budgets, config),
      new ClaimHolders(),
      budgets,
    ),
    expirePayments: new ExpirePayments(database, observe, authorizations, settleAuthorization, jobs, used, config),
  };
}
