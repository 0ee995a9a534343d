import { formatCents, formatUsd, type LedgerEntry, type Marketplace, type ReceiptDetail } from '@market/sdk';
import { shortenIds } from './transcript.js';

interface Table {
  rows: string[][];
  layout: { head: string[]; right: number[] };
}

export interface Receipts extends Table {
  buyer: ReceiptDetail;
  seller: ReceiptDetail;
}

export interface Ledgers extends Table {
  /** Oldest first. */
  buyer: LedgerEntry[];
  seller: LedgerEntry[];
}

/** What buyer and seller read about one listing. */
export class Books {
  constructor(
    private readonly buyer: Marketplace,
    private readonly seller: Marketplace,
    private readonly listing: { id: string },
  ) {}

  async paymentsOfBuyer(): Promise<LedgerEntry[]> {
    return (await entriesOf(this.buyer, this.listing.id)).filter(({ type }) => type === 'direct_payment');
  }

  /** The latest receipt of each side. */
  async receipts(): Promise<Receipts> {
    const buyer = await latestReceipt(this.buyer, 'buyer', this.listing.id);
    const seller = await latestReceipt(this.seller, 'seller', this.listing.id);
    return {
      buyer,
      seller,
      layout: { head: ['', 'from', 'to', 'gross', 'fee', 'net', 'currency', 'transaction'], right: [3, 4, 5] },
      rows: [buyer, seller].map((receipt) => [
        receipt.recipient_type,
        receipt.payer.display_name,
        receipt.seller.display_name,
        ...[receipt.gross_amount, receipt.fee_amount, receipt.net_amount].map(formatUsd),
        receipt.currency,
        receipt.transaction_hash,
      ]),
    };
  }

  async ledgers(): Promise<Ledgers> {
    const buyer = (await entriesOf(this.buyer, this.listing.id)).reverse();
    const seller = (await entriesOf(this.seller, this.listing.id)).reverse();
    const row = (name: string) => (entry: LedgerEntry) => [
      name,
      entry.type,
      shortenIds(entry.account),
      entry.direction,
      formatCents(entry.amount_cents),
      formatCents(entry.balance_after_cents),
    ];
    return {
      buyer,
      seller,
      layout: { head: ['', 'entry', 'account', '', 'amount', 'balance'], right: [4, 5] },
      rows: [...buyer.map(row('Ada')), ...seller.map(row('Otto'))],
    };
  }
}

async function entriesOf(agent: Marketplace, listingId: string): Promise<LedgerEntry[]> {
  return (await agent.ledger.list({ listing_id: listingId, limit: 100 })).data;
}

async function latestReceipt(agent: Marketplace, role: 'buyer' | 'seller', listingId: string): Promise<ReceiptDetail> {
  const { data } = await agent.receipts.list({ role });
  const latest = data.find(({ listing }) => listing.id === listingId);
  if (!latest) throw new Error(`The ${role} has no receipt for the listing.`);
  return agent.receipts.get(latest);
}
