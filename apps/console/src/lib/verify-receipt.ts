import { ed25519 } from '@noble/curves/ed25519';
import { base64urlnopad } from '@scure/base';

interface Jwk {
  kty: string;
  crv: string;
  kid: string;
  x: string;
}

export interface Verified {
  kid: string;
  claims: Record<string, unknown>;
}

/**
 * Checks the signature of a receipt (compact JWS, EdDSA) in this browser with the keys that the marketplace publishes.
 * @throws Error that states why the receipt is invalid.
 */
export async function verifyReceipt(jws: string): Promise<Verified> {
  const [header = '', payload = '', signature = ''] = jws.split('.');
  const { alg, typ, kid } = parse(header) as { alg: string; typ: string; kid: string };
  if (alg !== 'EdDSA' || typ !== 'receipt+jwt') throw new Error(`It is no receipt: alg ${alg}, typ ${typ}.`);
  const response = await fetch('/.well-known/jwks.json');
  if (!response.ok) throw new Error("The marketplace's keys could not be read.");
  const { keys } = (await response.json()) as { keys: Jwk[] };
  const key = keys.find((candidate) => candidate.kid === kid);
  if (!key) throw new Error(`No published key has the id ${kid}.`);
  const signed = new TextEncoder().encode(`${header}.${payload}`);
  if (!ed25519.verify(base64urlnopad.decode(signature), signed, base64urlnopad.decode(key.x), { zip215: false }))
    throw new Error('The signature does not fit the receipt: something in it was changed.');
  return { kid, claims: parse(payload) as Record<string, unknown> };
}

const parse = (part: string): unknown => JSON.parse(new TextDecoder().decode(base64urlnopad.decode(part)));
