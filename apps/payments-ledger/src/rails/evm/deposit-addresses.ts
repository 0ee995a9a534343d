import { createHash, ECDH } from 'node:crypto';
import type { Address } from 'viem';
import { HDKey, publicKeyToAddress } from 'viem/accounts';

const LEVELS = 3;
const BYTES_A_LEVEL = 4;
const NOT_HARDENED = 0x7f_ff_ff_ff;

/**
 * A fresh address for each offer, below one extended public key (BIP-32): whoever holds its private half can spend, this
 * server cannot. The path is made from the offer's id, three unhardened levels of 31 bits, so that nothing is counted, two
 * offers share an address with a chance of 2^-93, and the key's owner finds each path again from the offer alone.
 */
export class DepositAddresses {
  private readonly root: HDKey;

  /** @throws when the text is no extended public key, or is a private one. */
  constructor(extendedPublicKey: string) {
    this.root = HDKey.fromExtendedKey(extendedPublicKey);
    if (this.root.privateKey) throw new Error('it is a private key; the marketplace takes the public half alone');
  }

  pathOf(relayRequestId: string): number[] {
    const digest = createHash('sha256').update(`deposit path ${relayRequestId}`).digest();
    return Array.from({ length: LEVELS }, (_, level) => digest.readUInt32BE(level * BYTES_A_LEVEL) & NOT_HARDENED);
  }

  of(relayRequestId: string): Address {
    const key = this.pathOf(relayRequestId).reduce((parent, index) => parent.deriveChild(index), this.root);
    return publicKeyToAddress(`0x${ECDH.convertKey(key.publicKey!, 'secp256k1', undefined, 'hex', 'uncompressed').toString()}`);
  }
}
