import type { paths } from '@relayprotocol/relay-sdk';
import { nextState, type PaymentState } from '../../payments/payment-state.js';
import { dispositionOf, observationOf, readStatus, RELAY_STATUSES } from './relay-status.js';

/** All statuses of Relay's SDK. If the SDK adds one, this does not compile. */
const STATUSES_OF_SDK: Record<
  NonNullable<paths['/intents/status/v3']['get']['responses']['200']['content']['application/json']['status']>,
  true
> = {
  waiting: true,
  depositing: true,
  pending: true,
  submitted: true,
  success: true,
  refund: true,
  failure: true,
};
const AMOUNT = 95_000n;
const hashes = { inTxHashes: ['0xdeposit'], txHashes: ['0xfill'] };
const read = (answer: object) => readStatus(answer, 8453);
const after = (state: PaymentState, status: string, expired = false): PaymentState =>
  nextState({ state, amountBaseUnits: AMOUNT, expired }, observationOf(read({ status, ...hashes }), AMOUNT, false))
    .state;

describe('what Relay says of a payment', () => {
  it.each([
    ['waiting', { receivedBaseUnits: 0n, arriving: false }],
    ['depositing', { receivedBaseUnits: 0n, arriving: true }],
    ['pending', { receivedBaseUnits: 0n, arriving: true }],
    ['submitted', { receivedBaseUnits: 0n, arriving: true }],
    ['delayed', { receivedBaseUnits: 0n, arriving: true }],
    ['success', { receivedBaseUnits: AMOUNT, arriving: false, transactionHash: '0xfill', isClosed: true }],
    ['refund', { receivedBaseUnits: 0n, arriving: false, failed: true, isClosed: true }],
    ['failure', { receivedBaseUnits: 0n, arriving: false, failed: true, isClosed: false }],
  ])('is seen as it is: %s', (status, expected) =>
    expect(observationOf(read({ status, ...hashes }), AMOUNT, false)).toMatchObject(expected),
  );

  it('has every status that its SDK knows', () =>
    expect([...RELAY_STATUSES].sort()).toEqual([...Object.keys(STATUSES_OF_SDK), 'delayed'].sort()));

  it.each(['waiting', 'failure'])(
    'closes an offer that is over at its end, as long as Relay may go on from there: %s',
    (status) => {
      for (const isOver of [false, true]) expect(observationOf(read({ status }), AMOUNT, isOver).isClosed).toBe(isOver);
    },
  );

  it('moves an offer to paid or failed, holds it open while money is on its way, and never back', () => {
    expect(RELAY_STATUSES.map((status) => after('pending', status))).toEqual([
      'pending',
      'pending',
      'pending',
      'pending',
      'pending',
      'verified',
      'failed',
      'failed',
    ]);
    expect(RELAY_STATUSES.map((status) => after('pending', status, true))).toEqual([
      'expired',
      'pending',
      'pending',
      'pending',
      'pending',
      'verified',
      'failed',
      'failed',
    ]);
    for (const state of ['verified', 'completed', 'refund_due'] as const)
      expect(new Set(RELAY_STATUSES.map((status) => after(state, status, true)))).toEqual(new Set([state]));
    for (const state of ['failed', 'expired'] as const)
      expect(RELAY_STATUSES.map((status) => after(state, status))).toEqual([
        state,
        state,
        state,
        state,
        state,
        'refund_due',
        state,
        state,
      ]);
  });

  it.each([
    null,
    'success',
    {},
    { status: 'unknown' },
    { status: 'SUCCESS' },
    { status: 'success' },
    { status: 'success', txHashes: [], inTxHashes: [] },
    { status: 'success', txHashes: ['0x\n'] },
    { status: 'pending', originChainId: 10 },
    { errorCode: 'UNKNOWN_ERROR' },
  ])('is not known where it is not as documented: %j', (answer) =>
    expect(() => read(answer as object)).toThrow('Relay'),
  );

  it('takes the transaction of the deposit where it names none of the fill', () =>
    expect(
      observationOf(read({ status: 'success', inTxHashes: ['abc'], txHashes: [] }), AMOUNT, false).transactionHash,
    ).toBe('abc'));

  it('explains to the operator what became of money, except where Relay keeps it', () => {
    const disposition = (status: string, more: object = {}) => dispositionOf(read({ status, ...hashes, ...more }));
    expect(disposition('waiting')).toBeNull();
    expect(disposition('refund', { failReason: 'DEPOSITED_AMOUNT_TOO_LOW_TO_FILL' })).toEqual({
      explained: true,
      why: "Relay sent the money back to the buyer's wallet (DEPOSITED_AMOUNT_TOO_LOW_TO_FILL)",
    });
    expect(disposition('failure', { refundFailReason: 'AMOUNT_TOO_LOW_TO_REFUND' })).toEqual({
      explained: false,
      why: 'Relay took 0xdeposit and neither delivered it nor sent it back (AMOUNT_TOO_LOW_TO_REFUND)',
    });
    expect(disposition('failure', { inTxHashes: [] })).toMatchObject({ explained: true });
    expect(disposition('success')).toMatchObject({ explained: true });
    expect(disposition('failure', { failReason: 'SLIPPAGE', refundFailReason: 'N/A' })!.why).toMatch(/ \(SLIPPAGE\)$/);
    expect(disposition('refund', { failReason: 'N/A' })!.why).toBe("Relay sent the money back to the buyer's wallet");
    expect(disposition('refund', { failReason: 'line\nbreak\tand more' })!.why).toBe(
      "Relay sent the money back to the buyer's wallet",
    );
  });
});
