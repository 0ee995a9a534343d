// Makes the key of all deposit addresses: the seed for whoever may spend, the public half for the marketplace.
import { randomBytes } from 'node:crypto';
import { HDKey } from 'viem/accounts';

const seed = randomBytes(32);
console.log(`DEPOSIT_SEED=${seed.toString('hex')}`);
console.log(`PAYMENTS_LEDGER_EVM_XPUB=${HDKey.fromMasterSeed(seed).publicExtendedKey}`);
