import { reportBooks as contract } from '@market/contracts/payments-ledger';
import { formatDecimal } from '@market/kernel';
import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { ReportBooks } from './report-books.query.js';

const AMOUNTS = ['volume', 'revenue', 'fees_due', 'fees_paid', 'refunds_due', 'payouts_due', 'payouts_paid'] as const;

/** `market-admin books report`. It only reads and can run while the services run. */
export const reportBooks: CommandDefinition = {
  name: 'books report',
  help:
    'prints by seller and month, in US dollars, what was sold and earned, and the fees, refunds and payouts that ' +
    'are due and were paid',
  options: {
    month: { help: 'one month of UTC, as 2026-11' },
    seller: { help: "one seller's id" },
    format: { help: 'csv, json, or text, which ends with the sums' },
  },
  async run(container, { options: { month, seller, format = 'text' } }) {
    const asked = contract.input.safeParse({ month, sellerId: seller });
    if (!asked.success) throw new CommandFailure('--month must be as 2026-11, and --seller an id');
    if (!['csv', 'json', 'text'].includes(format)) throw new CommandFailure('--format must be csv, json or text');
    const { rows } = await container.get(ReportBooks).get(asked.data);
    if (format === 'json') return JSON.stringify(rows, null, 2);
    const last = new Map(rows.map((row) => [row.seller_id, row]));
    const sum = (column: (typeof AMOUNTS)[number]): bigint =>
      // Amounts due are balances at the end of a month, so the totals use the last row only.
      (column.endsWith('_due') ? [...last.values()] : rows).reduce(
        (total, row) => total + BigInt(row[column].micros),
        0n,
      );
    const table = [
      ['seller_id', 'month', 'sales', ...AMOUNTS],
      ...rows.map((row) => [
        row.seller_id,
        row.month,
        String(row.sales),
        ...AMOUNTS.map((column) => formatDecimal(BigInt(row[column].micros), 6)),
      ]),
    ];
    if (format === 'csv') return table.map((fields) => fields.join(',')).join('\n');
    const sales = rows.reduce((total, row) => total + row.sales, 0);
    const sums = ['all', month ?? '', String(sales), ...AMOUNTS.map((column) => formatDecimal(sum(column), 6))];
    return [...table, sums].map((fields) => fields.join('\t')).join('\n');
  },
};
