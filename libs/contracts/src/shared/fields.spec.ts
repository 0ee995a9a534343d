import fc from 'fast-check';
import { isHttpUrl, lengthOf, parseTimestamp } from './fields.js';

describe('parseTimestamp', () => {
  it('reads every instant from 1970 to 9999 as milliseconds in UTC', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-30'), noInvalidDate: true }),
        (date) => {
          expect(parseTimestamp(date.toISOString())).toBe(date.toISOString());
        },
      ),
    );
    expect(parseTimestamp('2026-11-21')).toBe('2026-11-21T00:00:00.000Z');
    expect(parseTimestamp('2026-11-21T01:00+02:00')).toBe('2026-11-20T23:00:00.000Z');
  });

  it.each([
    '',
    'now',
    '2026',
    '2026-13-01',
    '2026-02-30T25:00:00Z',
    '2026-11-21T01:00',
    '2026-11-21 01:00:00Z',
    '0000-01-01',
    '1969-12-31',
    '+012026-11-21T00:00:00Z',
    '1e3',
    '2026-11-21T01:00:00 02:00',
  ])('refuses %p', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it('refuses what is no timestamp, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.string(),
        (text) => void expect(parseTimestamp(text) === undefined || /^\d{4}-\d\d-\d\d/.test(text)).toBe(true),
      ),
    );
  });
});

describe('text', () => {
  it('is measured in code points', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void expect(lengthOf(text)).toBe([...text].length)));
    expect(lengthOf('👩‍🌾é')).toBe(4);
  });
});

describe('isHttpUrl', () => {
  it('takes http and https addresses', () => {
    for (const url of ['https://a.example', 'http://a.example:8080/x?y#z', 'https://[2001:db8::1]/'])
      expect(isHttpUrl(url)).toBe(true);
  });

  it.each([
    '',
    'a.example',
    '//a.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://a.example',
    'file:///etc/passwd',
    'https://',
    'https://user:secret@a.example',
    ' https://a.example',
    'https://a.example\n',
    'ht\ttps://a.example',
    `https://a.example/${'x'.repeat(2048)}`,
  ])('refuses %p', (url) => {
    expect(isHttpUrl(url)).toBe(false);
  });
});
