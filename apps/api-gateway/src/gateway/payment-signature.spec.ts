import { Refusal } from '@market/messaging';
import fc from 'fast-check';
import { readPaymentSignature } from './payment-signature.js';

const ID = `0x${'ab'.repeat(32)}`;
const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');
const payload = (relayRequestId: unknown = ID): object => ({
  x402Version: 2,
  accepted: { scheme: 'exact', extra: { relayRequestId } },
  payload: { signature: '0x00' },
});
const read = (header: string, relayRequestId?: string) =>
  readPaymentSignature({ 'payment-signature': header }, relayRequestId);

describe('PAYMENT-SIGNATURE', () => {
  it('names its offer, and goes on as the text it is', () => {
    expect(read(encode(payload()))).toEqual({ relayRequestId: ID, authorization: JSON.stringify(payload()) });
    expect(readPaymentSignature({}, ID)).toBeUndefined();
  });

  it.each([
    ['is empty', ''],
    ['is base64url', `${encode(payload())}-_`],
    ['is no JSON', encode('{')],
    ['is null', encode('null')],
    ['names no offer', encode({ x402Version: 2 })],
    ['names an odd one', encode(payload('0x12'))],
    ['spells its offer in upper case', encode(payload(`0x${'AB'.repeat(32)}`))],
    [
      'is nested deeper than anyone reads',
      encode(`{"resource":${'['.repeat(2_200)}${']'.repeat(2_200)},${JSON.stringify(payload()).slice(1)}`),
    ],
    ['is no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]).toString('base64')],
    ['is too long', encode({ ...payload(), filler: 'x'.repeat(20_000) })],
  ])('is refused where it %s', (_what, header) => {
    expect(() => read(header)).toThrow(Refusal);
  });

  it('of version 1 is told of version 2, instead of being ignored', () => {
    expect(() => readPaymentSignature({ 'x-payment': encode(payload()) })).toThrow(Refusal);
    expect(readPaymentSignature({ 'x-payment': 'old', 'payment-signature': encode(payload()) })?.relayRequestId).toBe(
      ID,
    );
  });

  it('may name the purchase', () => {
    const named = (id: unknown): string =>
      encode({ ...payload(), extensions: { 'payment-identifier': { info: { required: false, id } } } });
    expect(read(named('pay_7d5d747be160e280'))?.paymentIdentifier).toBe('pay_7d5d747be160e280');
    for (const id of ['short', 'x'.repeat(129), 'with blank 0123456', 17, null])
      expect(() => read(named(id))).toThrow(Refusal);
  });

  it('pays the offer that X-Market-Relay-Request-Id names, where both are sent', () => {
    expect(() => read(encode(payload()), `0x${'cd'.repeat(32)}`)).toThrow(Refusal);
  });

  it('never fails otherwise, whatever is sent', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json().map(encode), fc.base64String()), (header) => {
        try {
          const result = read(header);
          expect(result?.relayRequestId).toMatch(/^0x[0-9a-f]{64}$/);
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal);
        }
      }),
    );
  });
});
