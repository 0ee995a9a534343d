import { apiKeyOf, hashApiKey } from '@market/contracts/identity';
import type { IncomingMessage } from 'node:http';
import { presentedKeyHash } from './bearer-key.js';

const key = apiKeyOf('k'.repeat(43));
const request = (...headers: string[]): IncomingMessage => {
  const rawHeaders = ['Host', 'x', ...headers.flatMap((value) => ['Authorization', value])];
  return { headers: { authorization: headers[0] }, rawHeaders } as IncomingMessage;
};

describe('the key a request presents', () => {
  it('is the one after the Bearer scheme, in any case', () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) expect(presentedKeyHash(request(`${scheme} ${key}`))).toBe(hashApiKey(key));
  });

  it('is undefined without the header', () => {
    expect(presentedKeyHash(request())).toBeUndefined();
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    key,
    `Bearer  ${key}`,
    ` Bearer ${key}`,
    `Bearer ${key} `,
    `Bearer\t${key}`,
    `Bearer ${key},Bearer ${key}`,
    `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
    `Token ${key}`,
    `Bearer "${key}"`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.slice(0, 12)}`,
    `Bearer ${key.toUpperCase()}`,
    `Bearer ${key}x`,
    `Bearer am_s_${key.slice(5)}`,
    'Bearer null',
  ])('is null for %p', (header) => {
    expect(presentedKeyHash(request(header))).toBeNull();
  });

  it('is null when the header comes twice, also when both are the same', () => {
    expect(presentedKeyHash(request(`Bearer ${key}`, `Bearer ${key}`))).toBeNull();
    expect(presentedKeyHash(request(`Bearer ${key}`, 'Basic x'))).toBeNull();
  });
});
