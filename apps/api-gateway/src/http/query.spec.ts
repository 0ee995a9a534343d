import fc from 'fast-check';
import { Refusal } from '@market/messaging';
import {
  choiceParam,
  integerParam,
  pageParams,
  readQuery,
  textParam,
  timestampParam,
  usdParam,
  uuidParam,
} from './query.js';

const shape = {
  q: textParam(5),
  sort: choiceParam(['new', 'old'], 'new'),
  kind: choiceParam(['a']),
  who: uuidParam(),
  since: timestampParam(),
  price: usdParam(),
  ...pageParams(100),
};

function problemsOf(raw: object): string[] {
  try {
    readQuery(shape, raw);
    return [];
  } catch (error) {
    return ((error as Refusal).details.fields as { field: string }[]).map(({ field }) => field);
  }
}

describe('readQuery', () => {
  it('gives defaults for what is left out', () => {
    expect(readQuery(shape, {})).toEqual({
      q: undefined,
      sort: 'new',
      kind: undefined,
      who: undefined,
      since: undefined,
      price: undefined,
      page: 1,
      limit: 20,
    });
  });

  it('reads what fits', () => {
    expect(
      readQuery(shape, { q: 'a"👩', sort: 'old', page: '7', limit: '100', price: '0.000001', since: '2026-01-02' }),
    ).toMatchObject({ q: 'a"👩', sort: 'old', page: 7, limit: 100, price: '1', since: '2026-01-02T00:00:00.000Z' });
  });

  it('names every parameter that is unknown, repeated or unreadable', () => {
    expect(
      problemsOf({
        q: ['a', 'b'],
        sort: 'older',
        page: '0',
        limit: '101',
        nope: '1',
        price: '-1',
        who: 'x',
        since: 'x',
      }),
    ).toEqual(['q', 'sort', 'page', 'limit', 'nope', 'price', 'who', 'since']);
    expect(problemsOf({ constructor: 'x', toString: 'y' })).toEqual(['constructor', 'toString']);
  });

  it.each(['', ' 1', '1 ', '+1', '-1', '1.0', '1e1', '0x1', '١', '99999999999', 'NaN', 'Infinity'])(
    'reads no integer out of %p',
    (text) => {
      expect(integerParam(0, 1_000, 1).read(text)).toBeUndefined();
    },
  );

  it.each(['', '-0', '1e3', '.5', '5.', '0.0000001', '1000000000000', 'NaN', '1,5', '0x10', ' 1'])(
    'reads no price out of %p',
    (text) => {
      expect(usdParam().read(text)).toBeUndefined();
    },
  );

  it('reads prices exactly', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }), (micros) => {
        expect(usdParam().read(`${micros / 1_000_000n}.${(micros % 1_000_000n).toString().padStart(6, '0')}`)).toBe(
          micros.toString(),
        );
      }),
    );
  });

  it('refuses or reads any query without failing', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.oneof(fc.constantFrom(...Object.keys(shape)), fc.string()),
          fc.oneof(fc.string(), fc.array(fc.string())),
        ),
        (raw) => {
          try {
            readQuery(shape, raw);
          } catch (error) {
            expect(error).toBeInstanceOf(Refusal);
          }
        },
      ),
    );
  });
});
