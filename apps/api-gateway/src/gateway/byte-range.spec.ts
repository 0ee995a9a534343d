import { byteRangeOf } from './byte-range.js';

describe('byteRangeOf', () => {
  it.each([
    ['bytes=0-0', { first: 0, last: 0 }],
    ['bytes=2-5', { first: 2, last: 5 }],
    ['bytes=2-', { first: 2, last: 9 }],
    ['bytes=2-100', { first: 2, last: 9 }],
    ['bytes=-3', { first: 7, last: 9 }],
    ['bytes=-100', { first: 0, last: 9 }],
    ['bytes=9-9', { first: 9, last: 9 }],
    ['bytes=10-', null],
    ['bytes=10-11', null],
    ['bytes=-0', null],
    [undefined, undefined],
    ['bytes=0-1, 3-4', undefined],
    ['bytes=5-2', undefined],
    ['bytes=-', undefined],
    ['bytes=a-b', undefined],
    ['lines=0-1', undefined],
  ])('of %s in 10 bytes is %j', (header, expected) => {
    expect(byteRangeOf(header, 10)).toEqual(expected);
  });
});
