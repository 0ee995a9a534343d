// Calls a listing and signs by hand what it asks for, USDC by EIP-3009. Without KEY it needs no account:
//   [KEY=am_k_…] [PAYER_KEY=0x…] node docs/paying/viem-signed.mjs word-count
import { randomBytes } from 'node:crypto';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

const { KEY, PAYER_KEY = generatePrivateKey(), BASE_URL = 'http://localhost:3000' } = process.env;
const call = (headers) =>
  fetch(`${BASE_URL}/api/v1/${KEY ? 'gateway' : 'x402'}/${process.argv[2]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(KEY && { authorization: `Bearer ${KEY}` }), ...headers },
    body: JSON.stringify({ text: 'to be or not to be' }),
  });
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64');
const decode = (header) => JSON.parse(Buffer.from(header, 'base64').toString());

const asked = await call();
const { resource, accepts } = decode(asked.headers.get('payment-required'));
const accepted = accepts[0];
console.log(
  asked.status,
  `${accepted.amount} base units of ${accepted.asset} on ${accepted.network} to ${accepted.payTo}`,
);

const payer = privateKeyToAccount(PAYER_KEY);
const authorization = {
  from: payer.address,
  to: accepted.payTo,
  value: accepted.amount,
  validAfter: '0',
  validBefore: String(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds),
  nonce: `0x${randomBytes(32).toString('hex')}`,
};
const field = (name, type) => ({ name, type });
const signature = await payer.signTypedData({
  domain: {
    name: accepted.extra.name,
    version: accepted.extra.version,
    chainId: Number(accepted.network.split(':')[1]),
    verifyingContract: accepted.asset,
  },
  types: {
    TransferWithAuthorization: [
      field('from', 'address'),
      field('to', 'address'),
      field('value', 'uint256'),
      field('validAfter', 'uint256'),
      field('validBefore', 'uint256'),
      field('nonce', 'bytes32'),
    ],
  },
  primaryType: 'TransferWithAuthorization',
  message: authorization,
});
const paid = await call({
  'PAYMENT-SIGNATURE': encode({ x402Version: 2, resource, accepted, payload: { signature, authorization } }),
});
console.log(paid.status, await paid.text());
if (paid.headers.has('payment-response')) console.log(decode(paid.headers.get('payment-response')));
