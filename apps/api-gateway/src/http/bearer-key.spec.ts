import { apiKeyOf, hashApiKey, hashSessionToken, sessionTokenOf } from '@market/contracts/identity';
import type { IncomingMessage } from 'node:http';
import { bearerCredential } from './bearer-key.js';

const key = apiKeyOf('k'.repeat(43));
const token = sessionTokenOf('s'.repeat(43));
const request = (...headers: string[]): IncomingMessage => {
  const rawHeaders = ['Host', 'x', ...headers.flatMap((value) => ['Authorization', value])];
  return { headers: { authorization: headers[0] }, rawHeaders } as IncomingMessage;
};

describe('the credential in an Authorization header', () => {
  it('is the key or the session token after the Bearer scheme, in any case', () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
      expect(bearerCredential(request(`${scheme} ${key}`))).toEqual({ kind: 'api_key', hash: hashApiKey(key) });
      expect(bearerCredential(request(`${scheme} ${token}`))).toEqual({
        kind: 'session',
        hash: hashSessionToken(token),
      });
    }
  });

  it('is undefined without the header', () => {
    expect(bearerCredential(request())).toBeUndefined();
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    key,
    token,
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
    `Bearer am_s_${key.slice(5)}x`,
    `Bearer am_k_${key.slice(6)}`,
    `Bearer am_session=${token}`,
    'Bearer null',
  ])('is null for %p', (header) => {
    expect(bearerCredential(request(header))).toBeNull();
  });

  it('is null when the header comes twice, also when both are the same', () => {
    expect(bearerCredential(request(`Bearer ${key}`, `Bearer ${key}`))).toBeNull();
    expect(bearerCredential(request(`Bearer ${key}`, 'Basic x'))).toBeNull();
  });
});
