import { getReceipt, listLedger, listReceipts } from './books.js';
import { claimPayment, createOffer, paySandbox, releasePayment, settlePayment } from './offers.js';

export * from './books.js';
export * from './offers.js';

export const paymentsLedgerContract = { createOffer, claimPayment, settlePayment, releasePayment, paySandbox, listReceipts, getReceipt, listLedger };
