import { createHmac } from 'node:crypto';
import { isSignedByRelay } from './relay-signature.js';

const KEY = 'an api key';
const NOW = 1_790_000_000_000;
const BODY = '{"event":"request.status.updated","data":{"requestId":"0x1"}}';
const signed = (timestamp: string, body = BODY, key = KEY) => ({
  timestamp,
  body,
  signature: createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex'),
});

describe('the signature of a webhook', () => {
  const [seconds, milliseconds] = ['1790000000', '1790000000000'];
  it('is good over exactly this body and time, in seconds or milliseconds, in either case', () => {
    expect(isSignedByRelay(signed(seconds), KEY, NOW)).toBe(true);
    expect(isSignedByRelay(signed(milliseconds), KEY, NOW)).toBe(true);
    expect(isSignedByRelay({ ...signed(seconds), signature: signed(seconds).signature.toUpperCase() }, KEY, NOW)).toBe(
      true,
    );
  });

  it('is good for five minutes either way and no longer', () => {
    for (const off of [-300_000, 300_000]) expect(isSignedByRelay(signed(seconds), KEY, NOW + off)).toBe(true);
    for (const off of [-300_001, 300_001]) expect(isSignedByRelay(signed(seconds), KEY, NOW + off)).toBe(false);
  });

  it.each([
    ['another key', signed(seconds, BODY, 'another key')],
    ['another body', { ...signed(seconds), body: `${BODY} ` }],
    ['another time', { ...signed(seconds), timestamp: '1790000001' }],
    ['no signature', { ...signed(seconds), signature: '' }],
    ['a part of it', { ...signed(seconds), signature: signed(seconds).signature.slice(0, 62) }],
    ['more than it', { ...signed(seconds), signature: `${signed(seconds).signature}00` }],
    ['what is no hex', { ...signed(seconds), signature: 'z'.repeat(64) }],
    ['a time that is none', signed('now')],
    ['no time', signed('')],
    ['a time with a sign', signed('+1790000000')],
  ])('is not good with %s', (_name, webhook) => expect(isSignedByRelay(webhook, KEY, NOW)).toBe(false));
});
