import { fromSeed, Prefix, type KeyPair } from '@nats-io/nkeys';
import { Codec } from '@nats-io/nkeys/lib/codec.js';
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';

/** The public keys of a service's two users. */
export interface NatsPublicKeys {
  requests: string;
  events: string;
}

/**
 * A service has a user in each of the broker's two accounts, because JetStream delivers to any subject of its account
 * and must not reach requests. The seed of the second is derived from that of the first, so that a service needs one.
 */
export function natsKeys(seed: string): Record<keyof NatsPublicKeys, KeyPair> {
  const requests = fromSeed(new TextEncoder().encode(seed.trim()));
  return { requests, events: fromSeed(Codec.encodeSeed(Prefix.User, derived(seed, 'events'))) };
}

const derived = (seed: string, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', seed.trim(), '', purpose, 32));

/** PKCS #8 of an Ed25519 private key (RFC 8410) without its 32 bytes. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The key with which the edge signs principals. It is derived from the seed of the edge and is not a user of NATS. */
export const edgePrivateKey = (seed: string): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, derived(seed, 'principals')]),
    format: 'der',
    type: 'pkcs8',
  });

/** Returns the value of `NATS_EDGE_KEY`: the 32 bytes of the edge's public key in base64url. */
export const edgePublicKey = (seed: string): string =>
  createPublicKey(edgePrivateKey(seed)).export({ format: 'jwk' }).x!;

/** @throws if one of the comma-separated values is not an Ed25519 public key in base64url */
export const parseEdgeKeys = (keys: string): KeyObject[] =>
  keys.split(',').map((x) => createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: x.trim() }, format: 'jwk' }));

export function natsPublicKeys(seed: string): NatsPublicKeys {
  const { requests, events } = natsKeys(seed);
  return { requests: requests.getPublicKey(), events: events.getPublicKey() };
}
