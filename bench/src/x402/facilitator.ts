import { authorizationTypes } from '@x402/evm';
import Fastify from 'fastify';
import { createHash } from 'node:crypto';
import { isAddressEqual, recoverTypedDataAddress, type Address, type Hex } from 'viem';
import { serve } from '../limits/serve.js';
import { CHAIN_ID, NETWORK, USDC } from './chain.js';

/** The fields of both requests that are read here. The seller compares everything but the terms that are signed. */
interface Asked {
  paymentPayload: {
    payload: {
      signature: Hex;
      authorization: { from: Address; to: Address; value: string; validAfter: string; validBefore: string; nonce: Hex };
    };
  };
  paymentRequirements: { amount: string; payTo: Address; extra: { name: string; version: string } };
}

/**
 * The facilitator of both sides. It checks signatures, and settles without a chain, because the chain is not measured. A payment
 * that it verified is settled without a second check. Source: x402-specification-v2.md, section 7.
 */
const app = Fastify();
const verified = new Set<string>();

async function whyNot({ paymentPayload: { payload }, paymentRequirements: asked }: Asked): Promise<string | undefined> {
  const { signature, authorization } = payload;
  if (verified.has(signature)) return undefined;
  if (authorization.value !== asked.amount) return 'invalid_exact_evm_payload_authorization_value_mismatch';
  if (!isAddressEqual(authorization.to, asked.payTo)) return 'invalid_exact_evm_payload_recipient_mismatch';
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const signer = await recoverTypedDataAddress({
    domain: { name: asked.extra.name, version: asked.extra.version, chainId: CHAIN_ID, verifyingContract: USDC },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      from,
      to,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
      nonce,
    },
    signature,
  });
  if (!isAddressEqual(signer, from)) return 'invalid_exact_evm_signature';
  verified.add(signature);
  return undefined;
}

app.get('/supported', () => ({
  kinds: [{ x402Version: 2, scheme: 'exact', network: NETWORK }],
  extensions: [],
  signers: {},
}));
app.post<{ Body: Asked }>('/verify', async ({ body }) => {
  const invalidReason = await whyNot(body);
  return { isValid: invalidReason === undefined, invalidReason, payer: body.paymentPayload.payload.authorization.from };
});
app.post<{ Body: Asked }>('/settle', async ({ body }) => {
  const errorReason = await whyNot(body);
  const { from, nonce } = body.paymentPayload.payload.authorization;
  const transaction =
    errorReason === undefined ? `0x${createHash('sha256').update(`${from}${nonce}`).digest('hex')}` : '';
  return { success: errorReason === undefined, errorReason, transaction, network: NETWORK, payer: from };
});

await serve(app);
