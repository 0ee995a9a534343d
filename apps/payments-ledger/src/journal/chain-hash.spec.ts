import { createHash } from 'node:crypto';
import {
  boundValues,
  changedColumns,
  checksumsOf,
  digestOf,
  EXCHANGE,
  GENESIS,
  linkOf,
  PAYMENT,
  PAYOUT,
  POSTING,
  TRANSACTION,
  type PaymentFacts,
  type PayoutFacts,
  type PostingFacts,
  type ExchangeFacts,
  type RecordedTransaction,
} from './chain-hash.js';

const row = <T>(name: string, columns: readonly string[]): T =>
  Object.fromEntries(columns.map((column) => [column, `${name} ${column}`])) as T;
const recorded: RecordedTransaction = {
  ...row<Omit<RecordedTransaction, 'payment' | 'payout' | 'sale' | 'postings'>>('transaction', TRANSACTION),
  payment: { ...row<PaymentFacts>('payment', PAYMENT), transaction_hash: null },
  payout: null,
  sale: {
    completed_at: new Date(5),
    payer: null,
    ...row<ExchangeFacts>('exchange', EXCHANGE),
  },
  postings: [row<PostingFacts>('first', POSTING), row<PostingFacts>('second', POSTING)],
};
const [sale, payment] = [recorded.sale!, recorded.payment!];
const paidOut: RecordedTransaction = {
  ...recorded,
  payment: null,
  sale: null,
  payout: row<PayoutFacts>('payout', PAYOUT),
};
const hashOf = (transaction: RecordedTransaction): string => {
  const values = boundValues(transaction);
  return digestOf(values, checksumsOf(values)).toString('hex');
};
const changed = (transaction: RecordedTransaction, from = recorded): string[] =>
  changedColumns(boundValues(transaction), checksumsOf(boundValues(from)));

describe('the digest of a journal transaction', () => {
  const other = 'another';
  const changes: [string, RecordedTransaction][] = [
    ...TRANSACTION.map((column): [string, RecordedTransaction] => [
      `journal_transactions.${column}`,
      { ...recorded, [column]: other },
    ]),
    ...PAYMENT.map((column): [string, RecordedTransaction] => [
      `payments.${column}`,
      { ...recorded, payment: { ...payment, [column]: other } },
    ]),
    ['payments.completed_at', { ...recorded, sale: { ...sale, completed_at: new Date(6) } }],
    ['authorizations.payer', { ...recorded, sale: { ...sale, payer: '' } }],
    ...EXCHANGE.map((column): [string, RecordedTransaction] => [
      `journal_transactions.${column}`,
      { ...recorded, sale: { ...sale, [column]: other } },
    ]),
    ...[0, 1].flatMap((index) =>
      POSTING.map((column): [string, RecordedTransaction] => [
        `postings[${index}].${column}`,
        { ...recorded, postings: recorded.postings.with(index, { ...recorded.postings[index]!, [column]: other }) },
      ]),
    ),
  ];

  it('is the same for the same facts, however they are typed', () => {
    expect(hashOf({ ...recorded, postings: [...recorded.postings] })).toBe(hashOf(recorded));
    expect(hashOf({ ...recorded, recorded_at: new Date(9) })).toBe(hashOf({ ...recorded, recorded_at: '9' }));
    expect(hashOf({ ...recorded, payment: { ...payment, fee_bps: 500, id: Buffer.from('ab', 'hex') } })).toBe(
      hashOf({ ...recorded, payment: { ...payment, fee_bps: '500', id: 'ab' } }),
    );
  });

  it.each(changes)('is another where %s is another, which is named', (column, transaction) => {
    expect(hashOf(transaction)).not.toBe(hashOf(recorded));
    expect(changed(transaction)).toEqual([column]);
  });

  it.each(PAYOUT)('is another where payouts.%s is another, which is named', (column) => {
    const transaction = { ...paidOut, payout: { ...paidOut.payout!, [column]: other } };
    expect(hashOf(transaction)).not.toBe(hashOf(paidOut));
    expect(changed(transaction, paidOut)).toEqual([`payouts.${column}`]);
  });

  it('is another with postings that are gone, added or in another order', () => {
    const [first, second] = recorded.postings as [PostingFacts, PostingFacts];
    const others = [[first], [first, second, second], [second, first]].map((postings) => ({ ...recorded, postings }));
    expect(new Set([recorded, ...others].map(hashOf)).size).toBe(4);
    expect(others.map((transaction) => changed(transaction))).toEqual([
      ['postings'],
      POSTING.map((column) => `postings[2].${column}`),
      expect.arrayContaining(['postings[0].account', 'postings[1].account']) as string[],
    ]);
  });
});

describe('a link of the chain', () => {
  const [one, two] = ['1', '2'].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];

  it('is another after another link, and with digests that are gone, added, changed or in another order', () => {
    const links = [
      linkOf(GENESIS, [one, two]),
      linkOf(one, [one, two]),
      ...[[], [one], [two], [two, one], [one, two, two], [one, one]].map((digests) => linkOf(GENESIS, digests)),
    ];
    expect(new Set(links.map((link) => link.toString('hex'))).size).toBe(links.length);
  });
});
