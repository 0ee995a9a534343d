import { entryExample } from './books.examples.js';
import { ledgerCsv } from './ledger-csv.js';

const named = (name: string) => ({ ...entryExample, listing: { ...entryExample.listing!, name } });
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell]) => cell!);

describe('the ledger as CSV', () => {
  it('has a header line, a line an entry and CRLF line ends', () => {
    const csv = ledgerCsv([entryExample, entryExample]);
    expect(csv.split('\r\n')).toHaveLength(4);
    expect(
      csv.startsWith(
        'id,transaction_id,type,account,direction,amount_cents,currency,balance_after_cents,' +
          'listing_id,listing_name,listing_slug,payment_id,gateway_request_id,receipt_id,' +
          'transaction_hash,network,wallet,created_at\r\n',
      ),
    ).toBe(true);
    expect(csv.split('\r\n')[1]).toContain(`,seller_credit,${entryExample.account},credit,1.9,USD,133,`);
    expect(ledgerCsv([]).split('\r\n')).toHaveLength(2);
  });

  it('leaves empty what is not there', () => {
    const bare = {
      ...entryExample,
      listing: null,
      transaction_hash: null,
      reference: { payment_id: null, gateway_request_id: null, receipt_id: null },
    };
    expect(cellsOf(ledgerCsv([bare]).split('\r\n')[1]!).slice(8, 15)).toEqual(['', '', '', '', '', '', '']);
  });

  it('quotes separators and quotes, and lets no name become a formula or a line', () => {
    const cell = (name: string): string => cellsOf(ledgerCsv([named(name)]).split(/\r\n(?=019)/)[1]!)[9]!;
    expect(cell('a, b')).toBe('"a, b"');
    expect(cell('say "x"')).toBe('"say ""x"""');
    for (const formula of ['=1+1', '+1', '-1', '@x', '\t=1', '＝1+1', '＋1', '－1', '＠x'])
      expect(cell(formula)).toBe(`'${formula}`);
    expect(ledgerCsv([named('two\r\nlines')])).toContain('"two\r\nlines"');
  });

  it('writes negative balances as numbers', () => {
    expect(ledgerCsv([{ ...entryExample, balance_after_cents: -2.5 }])).toContain(',-2.5,');
  });
});
