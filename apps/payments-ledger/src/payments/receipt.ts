import { newId } from '@market/kernel';
import type { SalePaymentRow } from './payment.js';

/** A row of `receipts`. The digests and the status code are null for a subscription. */
export interface ReceiptRow {
  id: string;
  payment_id: string;
  recipient_type: 'buyer' | 'seller';
  recipient_id: string;
  request_digest: Buffer | null;
  response_digest: Buffer | null;
  seller_status_code: number | null;
  created_at: Date;
}

interface Exchanged {
  requestDigest: Buffer;
  responseDigest: Buffer;
  sellerStatusCode: number;
}

/** Returns one receipt for each party of a sale, with the same facts. */
export function receiptsOf(
  payment: Pick<SalePaymentRow, 'id' | 'buyer_id' | 'seller_id'>,
  at: Date,
  exchanged?: Exchanged,
): { buyer: ReceiptRow; seller: ReceiptRow } {
  const receipt = (recipient_type: ReceiptRow['recipient_type'], recipient_id: string): ReceiptRow => ({
    id: newId(at.getTime()),
    payment_id: payment.id,
    recipient_type,
    recipient_id,
    request_digest: exchanged?.requestDigest ?? null,
    response_digest: exchanged?.responseDigest ?? null,
    seller_status_code: exchanged?.sellerStatusCode ?? null,
    created_at: at,
  });
  return { buyer: receipt('buyer', payment.buyer_id), seller: receipt('seller', payment.seller_id) };
}
