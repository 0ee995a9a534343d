import { ExactEvmScheme } from '@x402/evm/exact/client';
import fc from 'fast-check';
import { toHex } from 'viem';
import { privateKeyToAccount, generatePrivateKey } from 'viem/accounts';
import { parsePayload, type ExactRequirements } from './exact-payment.js';
import { checkTerms, signedBy } from './exact-signature.js';

/** The order of the curve secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const payer = privateKeyToAccount(generatePrivateKey());
const asked: ExactRequirements = {
  scheme: 'exact',
  network: 'eip155:84532',
  amount: '250000',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
  maxTimeoutSeconds: 300,
  extra: { name: 'USDC', version: '2', relayRequestId: `0x${'ab'.repeat(32)}` },
};

/** A payload from the stock client, as it is sent over the wire. */
async function wirePayload(
  requirements: ExactRequirements = asked,
  signer = payer,
): Promise<Record<string, unknown> & { payload: { signature: string; authorization: Record<string, string> } }> {
  const { payload } = await new ExactEvmScheme(signer).createPaymentPayload(2, requirements as never);
  return JSON.parse(JSON.stringify({ x402Version: 2, accepted: requirements, payload })) as never;
}
const nowSeconds = (): bigint => BigInt(Math.floor(Date.now() / 1000));
/** No wallet with code has signed. */
const nobody = (): Promise<boolean> => Promise.resolve(false);
const check = async (wire: unknown, requirements = asked, now = nowSeconds()) => {
  const payload = parsePayload(JSON.stringify(wire))!;
  const signed = await signedBy(payload, requirements, nobody);
  return signed.valid ? checkTerms(payload, signed.payer, requirements, now) : signed;
};

describe('an exact payment on EVM', () => {
  it('made by the stock client pays the offer it was made for', async () => {
    const wire = await wirePayload();
    expect(await check(wire)).toEqual({
      valid: true,
      authorization: {
        payer: payer.address,
        nonce: wire.payload.authorization.nonce,
        validBefore: BigInt(wire.payload.authorization.validBefore!),
      },
    });
  });

  it('names its signer, whatever key signed', async () => {
    const privateKey = fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .map((bytes) => toHex(bytes))
      .filter((key) => BigInt(key) > 0n && BigInt(key) < ORDER);
    await fc.assert(
      fc.asyncProperty(privateKey, async (key) => {
        const signer = privateKeyToAccount(key);
        expect(await check(await wirePayload(asked, signer))).toMatchObject({
          valid: true,
          authorization: { payer: signer.address },
        });
      }),
      { numRuns: 40 },
    );
  });

  it('pays no other offer', async () => {
    const wire = await wirePayload();
    const others: [Partial<ExactRequirements>, string][] = [
      [{ network: 'eip155:8453' }, 'invalid_network'],
      [{ amount: '250001' }, 'accepted_mismatch'],
      [{ asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' }, 'accepted_mismatch'],
      [{ payTo: payer.address }, 'accepted_mismatch'],
      [{ maxTimeoutSeconds: 299 }, 'accepted_mismatch'],
      [{ extra: { ...asked.extra, relayRequestId: `0x${'cd'.repeat(32)}` } }, 'accepted_mismatch'],
    ];
    for (const [change, reason] of others)
      expect(await check(wire, { ...asked, ...change })).toEqual({ valid: false, reason });
  });

  it('whose terms claim what was not signed is refused', async () => {
    const signedFor = async (changes: Partial<ExactRequirements>) => ({
      ...(await wirePayload({ ...asked, ...changes })),
      accepted: asked,
    });
    expect(await check(await signedFor({ amount: '249999' }))).toEqual({
      valid: false,
      reason: 'invalid_exact_evm_payload_authorization_value_mismatch',
    });
    expect(await check(await signedFor({ payTo: payer.address }))).toEqual({
      valid: false,
      reason: 'invalid_exact_evm_payload_recipient_mismatch',
    });
    expect(await check(await signedFor({ asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' }))).toEqual({
      valid: false,
      reason: 'invalid_exact_evm_signature',
    });
    expect(await check(await signedFor({ network: 'eip155:8453' }))).toEqual({
      valid: false,
      reason: 'invalid_exact_evm_signature',
    });
    expect(await check(await signedFor({ extra: { ...asked.extra, name: 'USD Coin' } }))).toEqual({
      valid: false,
      reason: 'invalid_exact_evm_signature',
    });
  });

  it('is good in its time alone', async () => {
    const wire = await wirePayload();
    const validBefore = BigInt(wire.payload.authorization.validBefore!);
    expect(await check(wire, asked, validBefore - 6n)).toMatchObject({ valid: true });
    expect(await check(wire, asked, validBefore - 5n)).toEqual({
      valid: false,
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    });
    // An authorization that is valid for much longer than requested is rejected too.
    const longest = BigInt(asked.maxTimeoutSeconds) + 3_600n;
    expect(await check(wire, asked, validBefore - longest)).toMatchObject({ valid: true });
    expect(await check(wire, asked, validBefore - longest - 1n)).toEqual({
      valid: false,
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    });
    const validAfter = BigInt(wire.payload.authorization.validAfter!);
    expect(await check(wire, asked, validAfter)).toEqual({
      valid: false,
      reason: 'invalid_exact_evm_payload_authorization_valid_after',
    });
  });

  it('has one signature: no other bytes that name the same signer are taken', async () => {
    const wire = await wirePayload();
    const { signature } = wire.payload;
    const [r, s, v] = [signature.slice(2, 66), BigInt(`0x${signature.slice(66, 130)}`), signature.slice(130)];
    const mirrored = `0x${r}${(ORDER - s).toString(16).padStart(64, '0')}${v === '1b' ? '1c' : '1b'}`;
    const shortV = `0x${signature.slice(2, 130)}${v === '1b' ? '00' : '01'}`;
    for (const forged of [mirrored, shortV, `${signature}00`, signature.slice(0, -2), '0x00']) {
      expect(await check({ ...wire, payload: { ...wire.payload, signature: forged } })).toEqual({
        valid: false,
        reason: 'invalid_exact_evm_signature',
      });
    }
  });

  it('of a wallet with code is what its chain says, which is asked for nothing else', async () => {
    const wire = await wirePayload();
    const { authorization, signature } = wire.payload;
    let questions = 0;
    const askContract = () => Promise.resolve((questions += 1) > 0);
    const payloadWith = (changes: object) =>
      parsePayload(JSON.stringify({ ...wire, payload: { ...wire.payload, ...changes } }))!;
    const by = (changes: object) => signedBy(payloadWith(changes), asked, askContract);
    expect(await by({})).toEqual({ valid: true, payer: payer.address });
    const envelope = { signature: `${signature}00` };
    const away = { ...envelope, authorization: { ...authorization, to: payer.address } };
    expect(await by(away)).toEqual({ valid: false, reason: 'invalid_exact_evm_signature' });
    expect(questions).toBe(0);
    expect(await by(envelope)).toEqual({ valid: true, payer: payer.address });
    expect(await signedBy(payloadWith(envelope), asked)).toEqual({
      valid: false,
      reason: 'contract_wallet_unverifiable',
    });
  });

  it('loses its worth with any flipped bit of its signature, and never breaks the check', async () => {
    const wire = await wirePayload();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 65 * 8 - 1 }), async (bit) => {
        const bytes = Buffer.from(wire.payload.signature.slice(2), 'hex');
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        expect(await check({ ...wire, payload: { ...wire.payload, signature: `0x${bytes.toString('hex')}` } })).toEqual(
          { valid: false, reason: 'invalid_exact_evm_signature' },
        );
      }),
      { numRuns: 60 },
    );
  });

  it('is signed by nobody where its numbers are beyond the curve or the hash', async () => {
    const { payload, ...wire } = await wirePayload();
    for (const changes of [
      { authorization: { ...payload.authorization, value: '9'.repeat(78) } },
      { signature: `0x${'00'.repeat(32)}${'11'.repeat(32)}1b` },
      { signature: `${toHex(ORDER)}${'11'.repeat(32)}1b` },
      { signature: `0x${'11'.repeat(32)}${'00'.repeat(32)}1c` },
    ]) {
      expect(await check({ ...wire, payload: { ...payload, ...changes } })).toEqual({
        valid: false,
        reason: 'invalid_exact_evm_signature',
      });
    }
  });

  it('is read strictly', () => {
    const parse = (changes: Partial<Record<'value' | 'nonce' | 'from', unknown>>) =>
      parsePayload(
        JSON.stringify({
          x402Version: 2,
          accepted: asked,
          payload: {
            signature: `0x${'11'.repeat(65)}`,
            authorization: {
              from: payer.address,
              to: asked.payTo,
              value: '1',
              validAfter: '0',
              validBefore: '1',
              nonce: `0x${'00'.repeat(32)}`,
              ...changes,
            },
          },
        }),
      ) !== undefined;
    expect(parse({})).toBe(true);
    for (const value of ['1e3', '0x10', ' 1', '-1', '01', '1.0', 1, '', '9'.repeat(79)])
      expect(parse({ value })).toBe(false);
    for (const nonce of ['0x00', `0x${'00'.repeat(33)}`, 'ab'.repeat(32), `0X${'00'.repeat(32)}`])
      expect(parse({ nonce })).toBe(false);
    for (const from of ['vitalik.eth', payer.address.slice(2), `${payer.address}0`])
      expect(parse({ from })).toBe(false);
  });
});
