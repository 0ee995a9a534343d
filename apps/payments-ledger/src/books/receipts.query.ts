import { getReceipt, getReceiptProof, listReceipts, listSigningKeys } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { feeRateNumber, formatDecimal, usdNumber } from '@market/kernel';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, pageOfRows, sql } from '@market/persistence';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { toUsdAmount } from '../fees/usd-amount.js';
import { transactionIdOf } from '../journal/entry-ids.js';
import type { RefundReason } from '../journal/posting.js';
import { verifySale } from '../journal/verify-journal.js';
import { ReceiptSigner, type ReceiptClaims } from './receipt-signer.js';

interface ReceiptRow {
  id: string;
  payment_id: string;
  recipient_type: 'buyer' | 'seller';
  gross_micros: string;
  fee_bps: number;
  fee_micros: string;
  net_micros: string;
  currency: string;
  decimals: number;
  amount_base_units: string;
  unit: string | null;
  units: string | null;
  transaction_hash: string | null;
  listing_id: string;
  listing_name: string;
  listing_slug: string;
  created_at: Date;
}

interface ReceiptDetailRow extends ReceiptRow {
  relay_request_id: string;
  buyer_id: string;
  seller_id: string;
  network: string;
  gateway_request_id: string | null;
  request_digest: Buffer | null;
  response_digest: Buffer | null;
  seller_status_code: number | null;
  refunds: {
    status: 'refund_due' | 'refunded';
    reason: RefundReason;
    micros: string;
    transaction_hash: string | null;
  }[];
}

const columns = `r.id, r.payment_id, r.recipient_type, p.gross_micros, p.fee_bps, p.fee_micros, p.net_micros, p.currency,
  p.decimals,
  CASE WHEN p.usage IS NULL THEN p.amount_base_units ELSE least(p.amount_base_units, p.received_base_units) END AS amount_base_units,
  p.usage ->> 'unit' AS unit, p.units, p.transaction_hash, p.listing_id, p.listing_name, p.listing_slug, r.created_at`;
/** The highest bigint. */
const BEHIND_ALL = '9223372036854775807';
const list = sql(
  'receipts.list',
  `SELECT ${columns} FROM receipts r JOIN payments p ON p.id = r.payment_id
   WHERE r.recipient_id = $1 AND ($2::text IS NULL OR r.recipient_type = $2)
     AND r.sequence < coalesce((SELECT sequence FROM journal_transactions WHERE id = $5), ${BEHIND_ALL})
   ORDER BY r.sequence DESC LIMIT $3::int + 1 OFFSET $4`,
);
const count = sql(
  'receipts.count',
  `SELECT count(*)::int AS total FROM postings WHERE owner_id = $1
     AND type IN ('direct_payment', 'seller_credit') AND ($2::text IS NULL OR (type = 'direct_payment') = ($2 = 'buyer'))`,
);
const find = sql(
  'receipts.find',
  `SELECT ${columns}, p.relay_request_id, p.buyer_id, p.seller_id, p.network, p.gateway_request_id,
     r.request_digest, r.response_digest, r.seller_status_code,
     (SELECT coalesce(json_agg(json_build_object('status', CASE WHEN x.refunded_at IS NULL THEN 'refund_due' ELSE 'refunded' END,
        'reason', x.reason, 'micros', x.amount_micros::text, 'transaction_hash', x.transaction_hash) ORDER BY x.id), '[]')
       FROM refunds x WHERE x.payment_id = p.id) AS refunds
   FROM receipts r JOIN payments p ON p.id = r.payment_id
   WHERE r.sequence = (SELECT sequence FROM journal_transactions WHERE id = $3) AND r.id = $1 AND r.recipient_id = $2`,
);

/** The caller's own receipts, as buyer or as seller. The receipt of the other party is never shown. */
@Injectable()
export class ReceiptsQuery {
  private readonly logger = new Logger('ReceiptsQuery');
  private readonly issuer: string;

  constructor(
    private readonly database: Database,
    private readonly signer: ReceiptSigner,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.issuer = publicUrl;
  }

  @HandleRequest(listReceipts)
  async list(
    { role, page, limit, cursor }: InputOf<typeof listReceipts>,
    context: RequestContext,
  ): Promise<OutputOf<typeof listReceipts>> {
    const { accountId } = principalOf(context);
    const [found, [counted]] = await Promise.all([
      this.database.query<ReceiptRow>(list, [
        accountId,
        role ?? null,
        limit,
        cursor === undefined ? (page - 1) * limit : 0,
        cursor === undefined ? null : transactionIdOf(cursor),
      ]),
      this.database.query<{ total: number }>(count, [accountId, role ?? null]),
    ]);
    const { rows, nextCursor } = pageOfRows(found, limit);
    return { items: rows.map(toView), total: counted!.total, nextCursor };
  }

  @HandleRequest(getReceipt)
  async get({ receiptId }: InputOf<typeof getReceipt>, context: RequestContext): Promise<OutputOf<typeof getReceipt>> {
    const row = await this.find(receiptId, context);
    const refunds = row.refunds.map(({ micros, ...refund }) => ({ ...refund, amount: toUsdAmount(BigInt(micros)) }));
    return {
      ...toView(row),
      relay_request_id: row.relay_request_id,
      payer_id: row.buyer_id,
      seller_id: row.seller_id,
      refunds,
    };
  }

  @HandleRequest(listSigningKeys)
  listKeys(): OutputOf<typeof listSigningKeys> {
    return { keys: this.signer.publicKeys };
  }

  /** Reads the claims, which never change, from the books each time. If the books were altered, it signs nothing. */
  @HandleRequest(getReceiptProof)
  async prove(
    { receiptId }: InputOf<typeof getReceiptProof>,
    context: RequestContext,
  ): Promise<OutputOf<typeof getReceiptProof>> {
    const receipt = await this.find(receiptId, context);
    const changed = await verifySale(this.database, receipt.payment_id);
    if (changed !== null) {
      this.logger.error(`receipt ${receiptId} is not signed: ${changed}`);
      throw refuse(getReceiptProof, 'receipt_unlike_books', {});
    }
    const claims = this.toClaims(receipt);
    return { jws: this.signer.sign(claims), claims };
  }

  private async find(receiptId: string, context: RequestContext): Promise<ReceiptDetailRow> {
    const [row] = await this.database.query<ReceiptDetailRow>(find, [
      receiptId,
      principalOf(context).accountId,
      transactionIdOf(receiptId),
    ]);
    if (!row) throw refuse(getReceipt, 'receipt_not_found', {});
    return row;
  }

  private toClaims(row: ReceiptDetailRow): ReceiptClaims {
    const { id, created_at: _written, ...receipt } = toView(row);
    return {
      iss: this.issuer,
      iat: Math.floor(row.created_at.getTime() / 1000),
      receipt_id: id,
      ...receipt,
      buyer_id: row.buyer_id,
      seller_id: row.seller_id,
      network: row.network,
      relay_request_id: row.relay_request_id,
      gateway_request_id: row.gateway_request_id,
      request_digest: row.request_digest?.toString('hex') ?? null,
      response_digest: row.response_digest?.toString('hex') ?? null,
      seller_status_code: row.seller_status_code,
    };
  }
}

function toView(row: ReceiptRow): OutputOf<typeof listReceipts>['items'][number] {
  return {
    id: row.id,
    payment_id: row.payment_id,
    recipient_type: row.recipient_type,
    gross_amount: usdNumber(BigInt(row.gross_micros)),
    fee_rate: feeRateNumber(row.fee_bps),
    fee_amount: usdNumber(BigInt(row.fee_micros)),
    net_amount: usdNumber(BigInt(row.net_micros)),
    currency: 'USD',
    paid: {
      asset: row.currency,
      amount: formatDecimal(BigInt(row.amount_base_units), row.decimals),
      amount_base_units: row.amount_base_units,
    },
    ...(row.unit !== null && { usage: { unit: row.unit, units: Number(row.units) } }),
    transaction_hash: row.transaction_hash ?? '',
    listing: { id: row.listing_id, name: row.listing_name, slug: row.listing_slug },
    created_at: row.created_at.toISOString(),
  };
}
