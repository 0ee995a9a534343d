import type { OutputOf } from '@market/contracts';
import type { listLedger } from '@market/contracts/payments-ledger';

type Entry = OutputOf<typeof listLedger>['items'][number];
type Cell = string | number | null;

const COLUMNS: Record<string, (entry: Entry) => Cell> = {
  id: ({ id }) => id,
  transaction_id: ({ transaction_id }) => transaction_id,
  type: ({ type }) => type,
  account: ({ account }) => account,
  direction: ({ direction }) => direction,
  amount_cents: ({ amount_cents }) => amount_cents,
  currency: ({ currency }) => currency,
  balance_after_cents: ({ balance_after_cents }) => balance_after_cents,
  listing_id: ({ listing }) => listing?.id ?? null,
  listing_name: ({ listing }) => listing?.name ?? null,
  listing_slug: ({ listing }) => listing?.slug ?? null,
  payment_id: ({ reference }) => reference.payment_id,
  gateway_request_id: ({ reference }) => reference.gateway_request_id,
  receipt_id: ({ reference }) => reference.receipt_id,
  transaction_hash: ({ transaction_hash }) => transaction_hash,
  network: ({ network }) => network,
  wallet: ({ wallet }) => wallet,
  created_at: ({ created_at }) => created_at,
};

/** Formats ledger entries as RFC 4180 CSV, header line first. */
export const ledgerCsv = (entries: Entry[]): string =>
  [
    Object.keys(COLUMNS).join(','),
    ...entries.map((entry) =>
      Object.values(COLUMNS)
        .map((column) => cellOf(column(entry)))
        .join(','),
    ),
  ].join('\r\n') + '\r\n';

function cellOf(value: Cell): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  // The apostrophe prevents a spreadsheet from evaluating a listing's name as a formula. Some read full-width signs, too.
  const text = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
