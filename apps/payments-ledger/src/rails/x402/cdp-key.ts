import { SignJWT } from 'jose';
import { createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto';

/** A secret API key of the Coinbase Developer Platform. */
export interface CdpKey {
  id: string;
  secret: CdpSecret;
}

export interface CdpSecret {
  algorithm: 'EdDSA' | 'ES256';
  key: KeyObject;
}

/** For how long a token is good. Source: docs.cdp.coinbase.com/get-started/authentication/jwt-authentication. */
const LIFETIME_SECONDS = 120;
const ED25519_BYTES = 64;

/**
 * Parses a secret as the platform hands it out: the base64 of an Ed25519 seed and its public key, or a PEM of an EC key on
 * P-256, whose line ends may be written as \n. @throws Error that does not contain the secret.
 */
export function parseCdpSecret(text: string): CdpSecret {
  if (!text.includes('-----BEGIN')) return { algorithm: 'EdDSA', key: ed25519Key(text) };
  let key: KeyObject;
  try {
    key = createPrivateKey(text.replaceAll('\\n', '\n'));
  } catch {
    throw new Error('is a PEM that cannot be read');
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error('must be an EC key on P-256 or of Ed25519');
  return { algorithm: 'ES256', key };
}

function ed25519Key(text: string): KeyObject {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== ED25519_BYTES || bytes.toString('base64') !== text)
    throw new Error('must be the base64 of 64 bytes (Ed25519), or the PEM of an EC key on P-256');
  const [d, x] = [bytes.subarray(0, 32), bytes.subarray(32)].map((half) => half.toString('base64url')) as [
    string,
    string,
  ];
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
  if (createPublicKey(key).export({ format: 'jwk' }).x !== x)
    throw new Error('is made of two halves that do not belong together');
  return key;
}

/**
 * A token for one request: good for its method, host and path alone. Source: `generateJwt` in
 * typescript/src/auth/utils/jwt.ts of github.com/coinbase/cdp-sdk at 0c183ee0: `iss` "cdp", `sub` and `kid` the id of the key,
 * `aud` ["cdp_service"], `uris` ["METHOD host/path"], `iat`, `nbf` and `exp`, and a random `nonce` in the header.
 */
export function cdpToken({ id, secret }: CdpKey, method: string, { host, pathname }: URL): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT({ uris: [`${method} ${host}${pathname}`] })
    .setProtectedHeader({ alg: secret.algorithm, kid: id, typ: 'JWT', nonce: randomBytes(16).toString('hex') })
    .setIssuer('cdp')
    .setSubject(id)
    .setAudience(['cdp_service'])
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + LIFETIME_SECONDS)
    .sign(secret.key);
}
