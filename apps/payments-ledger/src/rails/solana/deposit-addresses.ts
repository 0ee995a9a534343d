import { createHmac, createPrivateKey, createPublicKey } from 'node:crypto';
import { getAddressDecoder, type Address } from '@solana/kit';
import { depositPath } from '../deposit-path.js';

interface ExtendedKey {
  privateKey: Buffer;
  chainCode: Buffer;
}

const HARDENED = 0x80_00_00_00;
/** What precedes the 32 bytes of an ed25519 private key in DER. Source: RFC 8410, section 7. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The ed25519 private key at a path of hardened indices below a seed. Source: SLIP-0010. */
export function deriveKey(seed: Uint8Array, path: readonly number[]): Buffer {
  return path.reduce(child, splitAt32(createHmac('sha512', 'ed25519 seed').update(seed).digest())).privateKey;
}

/** @param privateKey 32 bytes. */
export function addressOf(privateKey: Uint8Array): Address {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, privateKey]), format: 'der', type: 'pkcs8' });
  return getAddressDecoder().decode(Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x!, 'base64url'));
}

/**
 * A fresh address for each offer, below one seed. The server holds that seed, which spends what is paid: ed25519 has hardened
 * children alone, so that no public half exists from which addresses could be made.
 */
export class DepositAddresses {
  constructor(private readonly seed: Uint8Array) {}

  of(relayRequestId: string): Address {
    return addressOf(deriveKey(this.seed, depositPath(relayRequestId)));
  }
}

export const pathTextOf = (relayRequestId: string): string => `m/${depositPath(relayRequestId).map((index) => `${index}'`).join('/')}`;

function child({ privateKey, chainCode }: ExtendedKey, index: number): ExtendedKey {
  const number = Buffer.alloc(4);
  number.writeUInt32BE(index + HARDENED);
  return splitAt32(createHmac('sha512', chainCode).update(Buffer.concat([Buffer.of(0), privateKey, number])).digest());
}

const splitAt32 = (bytes: Buffer): ExtendedKey => ({ privateKey: bytes.subarray(0, 32), chainCode: bytes.subarray(32) });
