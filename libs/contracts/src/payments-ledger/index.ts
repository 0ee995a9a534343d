import {
  getPurchaseEvidence,
  getReceipt,
  getReceiptProof,
  listLedger,
  listReceipts,
  listSigningKeys,
} from './books.js';
import { getSpending } from './budgets.js';
import {
  claimPayment,
  createOffer,
  openKeylessPayment,
  paySandbox,
  quoteExact,
  quoteKeyless,
  releasePayment,
  settlePayment,
} from './offers.js';
import { handleRelayWebhook } from './relay.js';
import { listPaymentRoutes } from './routes.js';
import {
  cancelSubscription,
  createPayment,
  getPayment,
  getSubscription,
  listSubscriptions,
  subscribe,
  verifyPayment,
} from './subscriptions.js';

export * from './books.js';
export * from './budgets.js';
export * from './offers.js';
export * from './relay.js';
export * from './routes.js';
export * from './subscriptions.js';

export const paymentsLedgerContract = {
  createOffer,
  quoteExact,
  quoteKeyless,
  openKeylessPayment,
  listPaymentRoutes,
  handleRelayWebhook,
  claimPayment,
  settlePayment,
  releasePayment,
  paySandbox,
  listReceipts,
  getReceipt,
  getReceiptProof,
  listSigningKeys,
  listLedger,
  getPurchaseEvidence,
  subscribe,
  createPayment,
  getPayment,
  verifyPayment,
  listSubscriptions,
  getSubscription,
  cancelSubscription,
  getSpending,
};
