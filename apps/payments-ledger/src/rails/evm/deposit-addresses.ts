import { createHmac } from 'node:crypto';
import { invariant } from '@market/kernel';
import { LRUCache } from 'lru-cache';
import { pointAddScalar, pointCompress } from 'tiny-secp256k1';
import { bytesToHex, type Address } from 'viem';
import { HDKey, publicKeyToAddress } from 'viem/accounts';
import { depositPath } from '../deposit-path.js';

const MOST_KEPT = 10_000;

/** A fresh address for each offer, below one extended public key (BIP-32), unhardened: whoever holds its private half can spend, this server cannot. */
export class DepositAddresses {
  private readonly root: HDKey;
  /** Of the newest offers: each is asked for again when it is paid, and making one costs more than all else of a quote. */
  private readonly made = new LRUCache<string, Address>({ max: MOST_KEPT });

  /** @throws when the text is no extended public key, or is a private one. */
  constructor(extendedPublicKey: string) {
    this.root = HDKey.fromExtendedKey(extendedPublicKey);
    if (this.root.privateKey) throw new Error('it is a private key; the marketplace takes the public half alone');
  }

  of(relayRequestId: string): Address {
    const known = this.made.get(relayRequestId);
    if (known) return known;
    const address = this.derive(relayRequestId);
    this.made.set(relayRequestId, address);
    return address;
  }

  private derive(relayRequestId: string): Address {
    const { publicKey } = depositPath(relayRequestId).reduce(childOf, { publicKey: this.root.publicKey!, chainCode: this.root.chainCode! });
    return publicKeyToAddress(bytesToHex(pointCompress(publicKey, false)));
  }
}

interface Node {
  publicKey: Uint8Array;
  chainCode: Uint8Array;
}

/** CKDpub of BIP-32, over a curve in WebAssembly: half of the time that JavaScript takes, for every offer. */
function childOf({ publicKey, chainCode }: Node, index: number): Node {
  const data = Buffer.alloc(publicKey.length + 4);
  data.set(publicKey);
  data.writeUInt32BE(index, publicKey.length);
  const digest = createHmac('sha512', chainCode).update(data).digest();
  const child = pointAddScalar(publicKey, digest.subarray(0, 32), true);
  invariant(child, 'a child key is a point but for one in 2^127');
  return { publicKey: child, chainCode: digest.subarray(32) };
}
