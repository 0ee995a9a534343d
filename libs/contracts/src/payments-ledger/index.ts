import {
  getPurchaseEvidence,
  getReceipt,
  getReceiptProof,
  getStatement,
  listLedger,
  listReceipts,
  listSigningKeys,
} from './books.js';
import { getSpending } from './budgets.js';
import { getBalance, payFees, reportBooks } from './fees.js';
import {
  authorizePayment,
  checkPayable,
  findUnpayableSellers,
  createOffer,
  openKeylessPayment,
  paySandbox,
  quoteExact,
  quoteKeyless,
  collectPayment,
  releasePayment,
  settlePayment,
} from './offers.js';
import { takeIncludedCall } from './included-calls.js';
import { operationsOf } from '../operations.js';
import { findPayments, getMoneyOverview, inspectPayment } from './operators.js';
import { confirmRefund, listRefunds } from './refunds.js';
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
export * from './fees.js';
export * from './included-calls.js';
export * from './money.js';
export * from './offers.js';
export * from './operators.js';
export * from './quotas.js';
export * from './refunds.js';
export * from './relay.js';
export * from './routes.js';
export * from './subscriptions.js';

export const paymentsLedgerContract = {
  checkPayable,
  findUnpayableSellers,
  createOffer,
  takeIncludedCall,
  quoteExact,
  quoteKeyless,
  openKeylessPayment,
  listPaymentRoutes,
  handleRelayWebhook,
  authorizePayment,
  settlePayment,
  collectPayment,
  releasePayment,
  paySandbox,
  listReceipts,
  getReceipt,
  getReceiptProof,
  listSigningKeys,
  listLedger,
  getStatement,
  getPurchaseEvidence,
  subscribe,
  createPayment,
  getPayment,
  verifyPayment,
  listSubscriptions,
  getSubscription,
  cancelSubscription,
  getBalance,
  reportBooks,
  payFees,
  getSpending,
  findPayments,
  inspectPayment,
  getMoneyOverview,
  ...operationsOf('payments-ledger'),
  listRefunds,
  confirmRefund,
};
