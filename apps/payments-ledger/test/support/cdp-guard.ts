import { jwtVerify } from 'jose';
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A key as the Coinbase Developer Platform hands it out. */
export interface IssuedKey {
  id: string;
  secret: string;
  algorithm: 'EdDSA' | 'ES256';
  publicKey: KeyObject;
}

export function issueCdpKey(algorithm: IssuedKey['algorithm']): IssuedKey {
  if (algorithm === 'ES256') {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const secret = privateKey.export({ format: 'pem', type: 'sec1' }).toString();
    return { id: 'organizations/1f2e/apiKeys/3d4c', secret, algorithm, publicKey };
  }
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d, x } = privateKey.export({ format: 'jwk' });
  const secret = Buffer.concat([Buffer.from(d!, 'base64url'), Buffer.from(x!, 'base64url')]).toString('base64');
  return { id: '5b6a7988-0000-4000-8000-000000000001', secret, algorithm, publicKey: createPublicKey(privateKey) };
}

/** Admits a request whose token has every claim that the platform asks for, and that was not seen before. */
export function cdpGuard({ id, algorithm, publicKey }: IssuedKey) {
  const nonces = new Set<unknown>();
  return async ({ headers, method, url }: IncomingMessage): Promise<boolean> => {
    const [scheme, token] = headers.authorization?.split(' ') ?? [];
    if (scheme !== 'Bearer' || !token) return false;
    const verified = await jwtVerify(token, publicKey, {
      algorithms: [algorithm],
      issuer: 'cdp',
      subject: id,
      audience: 'cdp_service',
      typ: 'JWT',
      maxTokenAge: 120,
      requiredClaims: ['nbf', 'exp', 'iat', 'uris'],
    }).catch(() => null);
    if (!verified) return false;
    const { payload, protectedHeader } = verified;
    const isBound = JSON.stringify(payload.uris) === JSON.stringify([`${method} ${headers.host}${url}`]);
    const isShort = payload.exp! - payload.nbf! === 120;
    const isNew = /^[0-9a-f]{32}$/.test(String(protectedHeader.nonce)) && !nonces.has(protectedHeader.nonce);
    nonces.add(protectedHeader.nonce);
    return protectedHeader.kid === id && isBound && isShort && isNew;
  };
}
