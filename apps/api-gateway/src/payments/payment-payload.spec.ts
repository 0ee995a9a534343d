import fc from 'fast-check';
import { readPayload } from './payment-payload.js';

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

describe('a payment payload', () => {
  it('is the same as an object and as its JSON in base64', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.stringMatching(/^[a-z]{1,8}$/),
          fc.oneof(fc.integer(), fc.stringMatching(/^[\wäöü 🦀]{0,20}$/u), fc.boolean()),
        ),
        (payload) => {
          expect(readPayload(payload)).toEqual({ payload });
          expect(readPayload(base64(JSON.stringify(payload)))).toEqual({ payload });
        },
      ),
    );
  });

  it.each<[string, unknown]>([
    ['a number', 1],
    ['null', null],
    ['a list', [{}]],
    ['no text', ''],
    ['text that is no base64', '{"x402Version":2}'],
    ['base64url', `${base64('{"a":"??>"}').replace('/', '_')}_-`],
    ['base64 of no JSON', base64('hello')],
    ['base64 of a list', base64('[1]')],
    ['base64 of null', base64('null')],
    ['base64 of what is no UTF-8', base64(Buffer.from([0x7b, 0xff, 0x7d]))],
    ['base64 of 5,000 levels', base64(`{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`)],
    ['base64 of a key that every object has from birth', base64('{"__proto__":{"a":1}}')],
    ['base64 of text that cannot be stored', base64('{"a":"\\u0000"}')],
    ['more than any payload takes', base64(`{"a":"${'x'.repeat(60_000)}"}`)],
  ])('is refused in words when it is %s', (_what, value) => {
    expect(readPayload(value)).toEqual({ problem: expect.stringMatching(/^must /) });
  });
});
